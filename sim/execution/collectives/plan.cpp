#include "sim/execution/collectives/plan.hpp"

#include <limits>
#include <optional>

#include "sim/execution/collectives/nccl.hpp"

namespace pipewright::execution {
namespace {

struct Best {
  AlgorithmProtocol choice;
  std::size_t index = 0;
  std::vector<ByProtocol> transfers;  // of its phases; all 0 where they do not matter
};

bool needs_transfer(const PhaseCost& cost) { return cost.is_tree || cost.ends > 0; }

std::vector<ByProtocol> transfers_of(const AlgorithmChoice& choice, bool all,
                                     const RankPlacement& placement) {
  std::vector<ByProtocol> transfers;
  for (const PhaseCost& cost : choice.phases)
    transfers.push_back(all || needs_transfer(cost) ? transfer(cost, placement) : ByProtocol{});
  return transfers;
}

Best fastest(const std::vector<AlgorithmChoice>& choices, double bytes,
             const RankPlacement& placement) {
  const bool chooses = choices.size() > 1 || choices.front().protocols.size() > 1;
  double least = std::numeric_limits<double>::infinity();
  Best best;
  for (const AlgorithmChoice& choice : choices) {
    std::vector<ByProtocol> transfers = transfers_of(choice, chooses, placement);
    bool takes = false;
    for (const Protocol protocol : choice.protocols) {
      double seconds = 0;
      for (std::size_t i = 0; i < choice.phases.size(); ++i)
        seconds += transfers[i][static_cast<std::size_t>(protocol)] * bytes +
                   overhead(choice.phases[i], transfers[i], protocol, bytes);
      if (seconds >= least) continue;
      least = seconds;
      best.choice = {choice.algorithm, protocol};
      takes = true;
    }
    if (!takes) continue;
    best.index = static_cast<std::size_t>(&choice - choices.data());
    best.transfers = std::move(transfers);
  }
  return best;
}

// By NCCL's own model, where the cluster says its version.
std::optional<Best> best_for_nccl(const std::vector<AlgorithmChoice>& choices,
                                  workload::Collective kind, double bytes,
                                  std::span<const std::uint32_t> members,
                                  const RankPlacement& placement) {
  const auto view = nccl_view(kind, members, choices, placement);
  if (!view) return std::nullopt;
  std::optional<Best> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < choices.size(); ++i)
    for (const Protocol protocol : choices[i].protocols) {
      const AlgorithmProtocol by{choices[i].algorithm, protocol};
      const double seconds = nccl_seconds(kind, by, bytes, *view);
      if (seconds >= least) continue;
      least = seconds;
      best = Best{.choice = by, .index = i, .transfers = {}};
    }
  if (best) best->transfers = transfers_of(choices[best->index], false, placement);
  return best;
}

// Chosen by what NCCL reckons with, and carried out on the network as it is.
Best best_of(const std::vector<AlgorithmChoice>& all, const workload::Operation& kind, double bytes,
             std::span<const std::uint32_t> members, Algorithm algorithm,
             const RankPlacement& placement) {
  if (auto best = best_for_nccl(all, kind.kind, bytes, members, placement)) return *best;
  if (!placement.cluster().has_tuning_model()) return fastest(all, bytes, placement);
  const RankPlacement expected = placement.expected();
  Best best = fastest(algorithm_choices(kind, members, algorithm, expected), bytes, expected);
  best.transfers = transfers_of(all[best.index], false, placement);
  return best;
}

}  // namespace

std::vector<Phase> plan(const workload::Operation& kind, double bytes,
                        std::span<const std::uint32_t> members, Algorithm algorithm,
                        const RankPlacement& placement) {
  if (members.size() < 2 || bytes <= 0) return {};
  const std::vector<AlgorithmChoice> all = algorithm_choices(kind, members, algorithm, placement);
  const Best best = best_of(all, kind, bytes, members, algorithm, placement);
  const AlgorithmChoice& choice = all[best.index];
  std::vector<Phase> phases;
  for (std::size_t i = 0; i < choice.phases.size(); ++i)
    phases.push_back(
        phase_of(choice.phases[i], best.transfers[i], best.choice.protocol, bytes, placement));
  return phases;
}

AlgorithmProtocol choose(const workload::Operation& kind, double bytes,
                         std::span<const std::uint32_t> members, Algorithm algorithm,
                         const RankPlacement& placement) {
  if (members.size() < 2 || bytes <= 0) return {.algorithm = algorithm};
  return best_of(algorithm_choices(kind, members, algorithm, placement), kind, bytes, members,
                 algorithm, placement)
      .choice;
}

}  // namespace pipewright::execution
