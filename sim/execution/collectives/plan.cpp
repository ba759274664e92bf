#include "sim/execution/collectives/plan.hpp"

#include <limits>
#include <optional>

#include "sim/execution/collectives/nccl.hpp"

namespace pipewright::execution {
namespace {

struct BestChoice {
  AlgorithmProtocol choice;
  std::size_t index = 0;
  std::vector<ByProtocol> transfers;  // by phase; 0 where they do not matter
};

bool needs_transfer(const PhaseCost& cost) { return cost.is_tree || cost.ends > 0; }

std::vector<ByProtocol> transfers_of(const AlgorithmChoice& choice, bool every_phase,
                                     const RankPlacement& placement) {
  std::vector<ByProtocol> transfers;
  for (const PhaseCost& cost : choice.phases)
    transfers.push_back(every_phase || needs_transfer(cost) ? transfer(cost, placement)
                                                            : ByProtocol{});
  return transfers;
}

BestChoice fastest_choice(const std::vector<AlgorithmChoice>& choices, double bytes,
                          const RankPlacement& placement) {
  const bool has_alternatives = choices.size() > 1 || choices.front().protocols.size() > 1;
  double lowest = std::numeric_limits<double>::infinity();
  BestChoice best;
  for (const AlgorithmChoice& choice : choices) {
    std::vector<ByProtocol> transfers = transfers_of(choice, has_alternatives, placement);
    bool improves = false;
    for (const Protocol protocol : choice.protocols) {
      double seconds = 0;
      for (std::size_t i = 0; i < choice.phases.size(); ++i)
        seconds += transfers[i][static_cast<std::size_t>(protocol)] * bytes +
                   overhead(choice.phases[i], transfers[i], protocol, bytes);
      if (seconds >= lowest) continue;
      lowest = seconds;
      best.choice = {choice.algorithm, protocol};
      improves = true;
    }
    if (!improves) continue;
    best.index = static_cast<std::size_t>(&choice - choices.data());
    best.transfers = std::move(transfers);
  }
  return best;
}

// Choice that NCCL's own model makes. Empty if nccl_view() is empty.
std::optional<BestChoice> best_for_nccl(const std::vector<AlgorithmChoice>& choices,
                                        workload::Collective kind, double bytes,
                                        std::span<const std::uint32_t> members,
                                        const RankPlacement& placement) {
  const auto view = nccl_view(kind, members, choices, placement);
  if (!view) return std::nullopt;
  std::optional<BestChoice> best;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < choices.size(); ++i)
    for (const Protocol protocol : choices[i].protocols) {
      const AlgorithmProtocol choice{choices[i].algorithm, protocol};
      const double seconds = nccl_seconds(kind, choice, bytes, *view);
      if (seconds >= lowest) continue;
      lowest = seconds;
      best = BestChoice{.choice = choice, .index = i, .transfers = {}};
    }
  if (best) best->transfers = transfers_of(choices[best->index], false, placement);
  return best;
}

// Chooses by the link parameters that NCCL assumes; the transfer times returned are those of the
// actual network.
BestChoice select(const std::vector<AlgorithmChoice>& choices, const workload::Operation& kind,
                  double bytes, std::span<const std::uint32_t> members, Algorithm algorithm,
                  const RankPlacement& placement) {
  if (auto best = best_for_nccl(choices, kind.kind, bytes, members, placement)) return *best;
  if (!placement.cluster().has_tuning_model()) return fastest_choice(choices, bytes, placement);
  const RankPlacement expected = placement.expected();
  BestChoice best =
      fastest_choice(algorithm_choices(kind, members, algorithm, expected), bytes, expected);
  best.transfers = transfers_of(choices[best.index], false, placement);
  return best;
}

}  // namespace

std::vector<Phase> plan(const workload::Operation& kind, double bytes,
                        std::span<const std::uint32_t> members, Algorithm algorithm,
                        const RankPlacement& placement) {
  if (members.size() < 2 || bytes <= 0) return {};
  const std::vector<AlgorithmChoice> choices =
      algorithm_choices(kind, members, algorithm, placement);
  const BestChoice best = select(choices, kind, bytes, members, algorithm, placement);
  const AlgorithmChoice& choice = choices[best.index];
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
  return select(algorithm_choices(kind, members, algorithm, placement), kind, bytes, members,
                algorithm, placement)
      .choice;
}

}  // namespace pipewright::execution
