#include "sim/execution/collectives/plan.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "sim/execution/collectives/nccl.hpp"
#include "sim/execution/collectives/picks.hpp"

namespace pipewright::execution {

// Times of a collective by each algorithm and protocol. Transfers are found when they are needed.
class GroupPlanner::Times {
 public:
  Times(std::span<const AlgorithmChoice> choices, const RankPlacement& placement)
      : choices_(choices), placement_(placement), transfers_(choices.size()) {}

  const std::vector<ByProtocol>& transfers(std::size_t index) {
    std::vector<ByProtocol>& transfers = transfers_[index];
    if (transfers.empty())
      for (const PhaseCost& cost : choices_[index].phases)
        transfers.push_back(transfer(cost, placement_));
    return transfers;
  }
  double seconds(const Choice& choice, double bytes) {
    const std::vector<ByProtocol>& per_byte = transfers(choice.index);
    const Protocol protocol = choice.method.protocol;
    double sum = 0;
    for (std::size_t i = 0; i < per_byte.size(); ++i)
      sum += per_byte[i][static_cast<std::size_t>(protocol)] * bytes +
             overhead(choices_[choice.index].phases[i], per_byte[i], protocol, bytes);
    return sum;
  }

 private:
  std::span<const AlgorithmChoice> choices_;
  const RankPlacement& placement_;
  std::vector<std::vector<ByProtocol>> transfers_;  // by choice and phase
};

namespace {

// An algorithm with a protocol, among those that can run a collective.
using Variant = GroupPlanner::Choice;
using Times = GroupPlanner::Times;

std::vector<Variant> variants_of(const std::vector<AlgorithmChoice>& choices) {
  std::vector<Variant> variants;
  for (std::size_t i = 0; i < choices.size(); ++i)
    for (const Protocol protocol : choices[i].protocols)
      variants.push_back({{choices[i].algorithm, protocol}, i});
  return variants;
}

// The fastest of the variants that NCCL picks for these bytes and for more (Picks). NCCL picks by
// its own model; without a version of NCCL by the link parameters that NCCL assumes, or else by the
// actual ones.
template <class Estimate>
Variant fastest_pick(const std::vector<Variant>& variants, double bytes, const Estimate& estimate,
                     Times& times) {
  const auto estimate_of = [&](std::size_t variant, double size) {
    return estimate(variants[variant], size);
  };
  const Picks::Set picks = Picks(variants.size(), estimate_of).from(bytes, estimate_of);
  std::optional<Variant> fastest;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (!Picks::contains(picks, i)) continue;
    const double seconds = std::has_single_bit(picks) ? 0 : times.seconds(variants[i], bytes);
    if (seconds >= lowest) continue;
    lowest = seconds;
    fastest = variants[i];
  }
  return *fastest;
}

Variant select(const std::vector<AlgorithmChoice>& choices, const workload::Operation& kind,
               double bytes, std::span<const std::uint32_t> members, Algorithm algorithm,
               const RankPlacement& placement, Times& times) {
  const std::vector<Variant> variants = variants_of(choices);
  if (variants.size() == 1) return variants.front();
  if (placement.has_faults()) {
    // Libraries do not see slow cables, and choose for the network as it was built.
    const RankPlacement as_built = placement.as_built();
    const std::vector<AlgorithmChoice> choices_as_built =
        algorithm_choices(kind, members, algorithm, as_built);
    Times times_as_built(choices_as_built, as_built);
    return select(choices_as_built, kind, bytes, members, algorithm, as_built, times_as_built);
  }
  if (const auto view = nccl_view(kind.kind, members, choices, placement))
    return fastest_pick(
        variants, bytes,
        [&](const Variant& variant, double size) {
          return nccl_seconds(kind.kind, variant.method, size, *view);
        },
        times);
  if (!placement.cluster().has_tuning_model())
    return *std::ranges::min_element(
        variants, {}, [&](const Variant& variant) { return times.seconds(variant, bytes); });
  const RankPlacement expected = placement.expected();
  const std::vector<AlgorithmChoice> expected_choices =
      algorithm_choices(kind, members, algorithm, expected);
  Times expected_times(expected_choices, expected);
  return fastest_pick(
      variants, bytes,
      [&](const Variant& variant, double size) { return expected_times.seconds(variant, size); },
      times);
}

}  // namespace

std::vector<Phase> plan(const workload::Operation& kind, double bytes,
                        std::span<const std::uint32_t> members, Algorithm algorithm,
                        const RankPlacement& placement) {
  if (members.size() < 2 || bytes <= 0) return {};
  return GroupPlanner(kind, members, algorithm, placement).plan(bytes);
}

GroupPlanner::GroupPlanner(workload::Operation kind, std::span<const std::uint32_t> members,
                           Algorithm algorithm, const RankPlacement& placement)
    : kind_(std::move(kind)),
      members_(members.begin(), members.end()),
      algorithm_(algorithm),
      placement_(placement),
      choices_(algorithm_choices(kind_, members_, algorithm, placement)),
      times_(std::make_shared<Times>(choices_, placement)) {}

GroupPlanner::Choice GroupPlanner::choose(double bytes) const {
  if (is_empty(bytes)) return {.method = {.algorithm = algorithm_}};
  return select(choices_, kind_, bytes, members_, algorithm_, placement_, *times_);
}

std::vector<Phase> GroupPlanner::plan(double bytes) const {
  std::vector<Phase> phases;
  if (is_empty(bytes)) return phases;
  const Choice best = choose(bytes);
  const std::vector<PhaseCost>& costs = choices_[best.index].phases;
  const bool has_ends =
      std::ranges::any_of(costs, [](const PhaseCost& cost) { return cost.ends > 0; });
  for (std::size_t i = 0; i < costs.size(); ++i)
    phases.push_back(phase_of(costs[i], has_ends ? times_->transfers(best.index)[i] : ByProtocol{},
                              best.method.protocol, bytes, placement_));
  return phases;
}

AlgorithmProtocol choose(const workload::Operation& kind, double bytes,
                         std::span<const std::uint32_t> members, Algorithm algorithm,
                         const RankPlacement& placement) {
  if (members.size() < 2 || bytes <= 0) return {.algorithm = algorithm};
  return GroupPlanner(kind, members, algorithm, placement).choose(bytes).method;
}

}  // namespace pipewright::execution
