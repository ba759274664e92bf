#include "sim/execution/collectives/least_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "sim/execution/collectives/flow_counts.hpp"
#include "sim/execution/collectives/many_routes.hpp"

namespace pipewright::execution {
namespace {

using workload::Collective;

// Whole bytes that a flow carries. Rounds down unless the fraction is 0.75 or more, so as not to
// exceed the bytes that the engine counts.
double rounded(double bytes) { return std::floor(bytes + 0.25); }

template <class Loads>
double slowest(const Loads& loads, double bytes, bool rounds_bytes) {
  double seconds = 0;
  for (const auto& load : loads) seconds = std::max(seconds, load.seconds(bytes, rounds_bytes));
  return seconds;
}

}  // namespace

double LeastTime::Load::seconds(double bytes, bool rounds_bytes) const {
  double sum = 0;
  for (const auto& [part, count] : flows)
    sum += count * (rounds_bytes ? rounded(part * bytes) : part * bytes);
  return sum / bandwidth;
}

bool LeastTime::Step::operator==(const Step& rhs) const {
  return loads == rhs.loads && cost.latency == rhs.cost.latency && cost.ends == rhs.cost.ends &&
         cost.level_seconds == rhs.cost.level_seconds &&
         cost.round_latency == rhs.cost.round_latency && cost.chunking == rhs.cost.chunking &&
         transfer == rhs.transfer;
}

double LeastTime::Step::seconds(Protocol protocol, double bytes, bool rounds_bytes) const {
  return slowest(loads, bytes, rounds_bytes) + overhead(cost, transfer, protocol, bytes);
}

double LeastTime::Variant::group_seconds(std::size_t group, double bytes) const {
  if (groups[group].empty()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const Step& step : groups[group]) sum += step.seconds(protocol, bytes, rounds_bytes);
  return sum;
}

double LeastTime::Variant::seconds(double bytes) const {
  double seconds = 0;
  for (std::size_t group = 0; group < groups.size(); ++group)
    seconds = std::max(seconds, group_seconds(group, bytes));
  return together.empty() ? seconds
                          : std::max(seconds, slowest(together, bytes, rounds_bytes) + latency);
}

// Counts the flows of an algorithm on links: those of one phase of one group, and those of all
// groups together, on the links that several groups may share. FATPIPE links are not among the
// latter, since they have no contention. Flows are scaled to a collective of one byte; the phase's
// overhead is not included.
class LeastTime::Counting {
 public:
  Counting(const RankPlacement& placement, ManyRoutes& routes, bool together)
      : placement_(placement), routes_(routes), adds_up_(together) {}

  void count(const PhaseCost& cost) {
    of_phase_.clear();
    for (const Flow& flow : cost.flows) {
      const cluster::Route& route = routes_.route(flow.source, flow.destination);
      ByProtocol bytes;
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = flow.bytes * on_wire(cost, route, static_cast<Protocol>(i));
      const std::uint32_t kind = kinds_.number_of(bytes);
      for (const cluster::Link* link : route.links) of_phase_.add(link, kind);
    }
    distinct_ = of_phase_.distinct(placement_);
    for (std::size_t i = 0; adds_up_ && i < of_phase_.size(); ++i)
      if (cluster::is_shared(of_phase_.link(i)))
        for (const auto& [kind, count] : of_phase_.counts(i))
          of_groups_.add(of_phase_.link(i), kind, count);
  }

  // Distinct loads of the phase that was counted last.
  std::vector<Load> loads(Protocol protocol) const { return loads(of_phase_, distinct_, protocol); }
  std::vector<Load> loads_together(Protocol protocol) {
    return loads(of_groups_, of_groups_.distinct(placement_), protocol);
  }

 private:
  // A FATPIPE link does not share its bandwidth, so that only its largest flow counts.
  Load load(const cluster::Link* link, const FlowCounts::Counts& counts, Protocol protocol) const {
    Load load{.flows = {}, .bandwidth = placement_.capacity_of(link)};
    for (const auto& [kind, count] : counts)
      load.flows.emplace_back(kinds_.bytes(kind, protocol), count);
    std::ranges::sort(load.flows);
    if (!cluster::is_shared(link)) {
      load.flows = {{load.flows.back().first, 1}};
      return load;
    }
    std::size_t last = 0;
    for (std::size_t i = 1; i < load.flows.size(); ++i)
      if (load.flows[i].first == load.flows[last].first)
        load.flows[last].second += load.flows[i].second;
      else
        load.flows[++last] = load.flows[i];
    load.flows.resize(last + 1);
    return load;
  }
  std::vector<Load> loads(const FlowCounts& counts, const std::vector<std::size_t>& distinct,
                          Protocol protocol) const {
    std::vector<Load> loads;
    for (const std::size_t i : distinct)
      loads.push_back(load(counts.link(i), counts.counts(i), protocol));
    std::ranges::sort(loads);
    const auto equal = std::ranges::unique(loads);
    loads.erase(equal.begin(), equal.end());
    return loads;
  }

  const RankPlacement& placement_;
  ManyRoutes& routes_;
  bool adds_up_;
  FlowKinds kinds_;
  FlowCounts of_phase_;
  std::vector<std::size_t> distinct_;  // of of_phase_
  FlowCounts of_groups_;
};

LeastTime::Step LeastTime::step_of(const PhaseCost& cost, Protocol protocol,
                                   std::vector<Load> loads) {
  Step step{.loads = std::move(loads),
            .cost = {.flows = {},
                     .latency = cost.latency,
                     .ends = cost.ends,
                     .level_seconds = cost.level_seconds,
                     .round_latency = cost.round_latency,
                     .chunking = cost.chunking,
                     .is_raw = cost.is_raw,
                     .is_direct = cost.is_direct},
            .transfer = {}};
  step.transfer[static_cast<std::size_t>(protocol)] = slowest(step.loads, 1, false);
  return step;
}

LeastTime::LeastTime(const workload::Operation& kind, const Groups& groups, Algorithm algorithm,
                     const RankPlacement& placement, bool together) {
  if (groups.empty() || groups.front().size() < 2) return;
  kind_ = kind.kind;
  const auto choices_on = [&](const RankPlacement& numbers) {
    Choices choices;
    for (const auto& group : groups)
      choices.push_back(algorithm_choices(kind, group, algorithm, numbers));
    return choices;
  };
  const Choices choices = choices_on(placement);
  const std::vector<AlgorithmProtocol> methods = methods_of(choices);
  add_variants(methods, choices, placement, together);
  count_ = variants_.size();
  if (count_ > 1) {
    const RankPlacement as_built = placement.as_built();
    const bool has_faults = placement.has_faults();
    add_nccl_views(groups, has_faults ? choices_on(as_built) : choices, as_built);
    const bool lacks_view = std::ranges::any_of(views_, [](const auto& view) { return !view; });
    const bool is_expected = lacks_view && placement.cluster().has_tuning_model();
    if (is_expected || has_faults) {
      const RankPlacement basis = is_expected ? as_built.expected() : as_built;
      add_variants(methods, choices_on(basis), basis, false);
    }
    chooses_as_built_ = has_faults && !is_expected;
    is_choice_known_ = !(has_faults && is_expected);
  }
  merge_equal();
  add_picks();
}

double LeastTime::selection_seconds(std::size_t variant, std::size_t group, double bytes) const {
  if (variants_[variant].groups[group].empty()) return std::numeric_limits<double>::infinity();
  if (views_[group])
    return nccl_seconds(kind_, {variants_[variant].algorithm, variants_[variant].protocol}, bytes,
                        *views_[group]);
  return variants_[variant + variants_.size() - count_].group_seconds(group, bytes);
}

void LeastTime::add_picks() {
  if (count_ < 2) return;
  for (std::size_t group = 0; group < variants_.front().groups.size(); ++group)
    picks_.emplace_back(count_, [&](std::size_t variant, double bytes) {
      return selection_seconds(variant, group, bytes);
    });
}

// Variants from which plan() takes the fastest.
Picks::Set LeastTime::picks(std::size_t group, double bytes) const {
  if (!views_[group] && variants_.size() == count_) return ~Picks::Set{0};
  return picks_[group].from(bytes, [&](std::size_t variant, double size) {
    return selection_seconds(variant, group, size);
  });
}

// Methods of all groups, those of the first group first: groups may differ in what they can run.
std::vector<AlgorithmProtocol> LeastTime::methods_of(const Choices& choices_by_group) {
  std::vector<AlgorithmProtocol> methods;
  for (const std::vector<AlgorithmChoice>& group_choices : choices_by_group)
    for (const AlgorithmChoice& choice : group_choices)
      for (const Protocol protocol : choice.protocols) {
        const auto is_known = [&](const AlgorithmProtocol& method) {
          return method.algorithm == choice.algorithm && method.protocol == protocol;
        };
        if (std::ranges::none_of(methods, is_known))
          methods.push_back({choice.algorithm, protocol});
      }
  return methods;
}

void LeastTime::add_variants(const std::vector<AlgorithmProtocol>& methods,
                             const Choices& choices_by_group, const RankPlacement& placement,
                             bool together) {
  const std::size_t first = variants_.size();
  std::size_t flows = 0;
  for (const std::vector<AlgorithmChoice>& group_choices : choices_by_group)
    for (const AlgorithmChoice& choice : group_choices)
      for (const PhaseCost& cost : choice.phases) flows += cost.flows.size();
  ManyRoutes routes(placement, flows);
  const bool adds_up = together && choices_by_group.size() > 1;
  std::map<Algorithm, Counting> counting;
  for (const AlgorithmProtocol& method : methods) {
    variants_.push_back({.algorithm = method.algorithm,
                         .protocol = method.protocol,
                         .groups = std::vector<std::vector<Step>>(choices_by_group.size()),
                         .rounds_bytes = together});
    counting.try_emplace(method.algorithm, placement, routes, adds_up);
  }
  const std::span<Variant> variants(variants_.begin() + static_cast<std::ptrdiff_t>(first),
                                    variants_.end());
  for (std::size_t group = 0; group < choices_by_group.size(); ++group)
    for (const AlgorithmChoice& choice : choices_by_group[group]) {
      Counting& counted = counting.at(choice.algorithm);
      for (const PhaseCost& cost : choice.phases) {
        counted.count(cost);
        for (Variant& variant : variants)
          if (variant.algorithm == choice.algorithm &&
              std::ranges::find(choice.protocols, variant.protocol) != choice.protocols.end())
            variant.groups[group].push_back(
                step_of(cost, variant.protocol, counted.loads(variant.protocol)));
      }
    }
  const auto runs = [](const std::vector<Step>& steps) { return !steps.empty(); };
  for (Variant& variant : variants) {
    if (!adds_up || !std::ranges::all_of(variant.groups, runs)) continue;
    variant.together = counting.at(variant.algorithm).loads_together(variant.protocol);
    variant.latency = std::numeric_limits<double>::infinity();
    for (const std::vector<Step>& steps : variant.groups)
      for (const Step& step : steps)
        variant.latency = std::min(variant.latency,
                                   step.cost.latency[static_cast<std::size_t>(variant.protocol)]);
  }
}

void LeastTime::add_nccl_views(const Groups& groups, const Choices& choices_by_group,
                               const RankPlacement& placement) {
  for (std::size_t group = 0; group < groups.size(); ++group)
    views_.push_back(nccl_view(kind_, groups[group], choices_by_group[group], placement));
}

// Keeps one group of each set of groups with equal costs: most groups are placed equivalently.
void LeastTime::merge_equal() {
  std::vector<std::size_t> representatives;
  for (std::size_t group = 0; group < variants_.front().groups.size(); ++group) {
    const auto is_equal_to = [&](std::size_t representative) {
      if (!views_.empty() && views_[group] != views_[representative]) return false;
      return std::ranges::all_of(variants_, [&](const Variant& variant) {
        return variant.groups[group] == variant.groups[representative];
      });
    };
    if (std::ranges::none_of(representatives, is_equal_to)) representatives.push_back(group);
  }
  std::vector<std::optional<NcclView>> views;
  for (const std::size_t group : representatives)
    if (!views_.empty()) views.push_back(views_[group]);
  views_ = std::move(views);
  for (Variant& variant : variants_) {
    std::vector<std::vector<Step>> groups;
    for (const std::size_t group : representatives)
      groups.push_back(std::move(variant.groups[group]));
    variant.groups = std::move(groups);
  }
}

double LeastTime::seconds(std::uint64_t bytes) const {
  if (variants_.empty() || bytes == 0) return 0;
  const auto count = static_cast<double>(bytes);
  if (count_ == 1) return variants_.front().seconds(count);
  // Each group takes the fastest of the variants that NCCL picks. The bound of all groups together
  // is known where all take the same variant.
  double slowest_group = 0;
  std::size_t taken = count_;
  bool is_unanimous = true;
  for (std::size_t group = 0; group < variants_.front().groups.size(); ++group) {
    double lowest = std::numeric_limits<double>::infinity();
    double second = lowest;
    std::size_t best = 0;
    const Picks::Set group_picks = picks(group, count);
    for (std::size_t i = 0; i < count_; ++i) {
      if (!Picks::contains(group_picks, i)) continue;
      const std::size_t basis = chooses_as_built_ ? i + count_ : i;
      const double seconds = variants_[basis].group_seconds(group, count);
      if (seconds < lowest) {
        second = lowest;
        lowest = seconds;
        best = i;
      } else {
        second = std::min(second, seconds);
      }
    }
    slowest_group = std::max(slowest_group, variants_[best].group_seconds(group, count));
    constexpr double clearly = 1 - 1e-6;
    is_unanimous = is_unanimous && is_choice_known_ && lowest < second * clearly &&
                   (group == 0 || best == taken);
    taken = best;
  }
  return is_unanimous ? variants_[taken].seconds(count) : slowest_group;
}

}  // namespace pipewright::execution
