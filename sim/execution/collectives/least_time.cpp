#include "sim/execution/collectives/least_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

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

// Adds a flow that carries this fraction of the bytes. A FATPIPE link does not share its bandwidth,
// so that only its largest flow counts.
void LeastTime::Load::add(double part, bool shared) {
  const auto it =
      std::ranges::lower_bound(flows, part, {}, &std::pair<double, std::uint32_t>::first);
  if (!shared) {
    if (flows.empty() || flows.back().first < part) flows.assign(1, {part, 1});
  } else if (it != flows.end() && it->first == part) {
    ++it->second;
  } else {
    flows.insert(it, {part, 1});
  }
}

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

// Routes between ranks, looked up once for all protocols and for both kinds of loads.
class LeastTime::RouteCache {
 public:
  explicit RouteCache(const RankPlacement& placement) : placement_(placement) {}

  const cluster::Route& route(const Flow& flow) {
    const std::uint64_t key = std::uint64_t{flow.source} << 32U | flow.destination;
    const auto [it, is_new] = cache_.try_emplace(key);
    if (is_new) it->second = placement_.route(flow.source, flow.destination);
    return it->second;
  }
  double capacity_of(const cluster::Link* link) const { return placement_.capacity_of(link); }

 private:
  const RankPlacement& placement_;
  std::unordered_map<std::uint64_t, cluster::Route> cache_;
};

// Adds the flows of a phase, scaled to one byte, to the loads of their links. The phase's overhead
// is not included.
void LeastTime::Loads::add(const PhaseCost& cost, Protocol protocol, RouteCache& routes,
                           Links links) {
  for (const Flow& flow : cost.flows) {
    const cluster::Route& route = routes.route(flow);
    const double bytes = flow.bytes * on_wire(cost, route, protocol);
    for (const cluster::Link* link : route.links) {
      const bool shared = cluster::is_shared(link);
      if (links == Links::shared && !shared) continue;
      Load& load = by_link[link];
      if (load.flows.empty()) load.bandwidth = routes.capacity_of(link);
      load.add(bytes, shared);
    }
  }
}

std::vector<LeastTime::Load> LeastTime::Loads::distinct() && {
  std::vector<Load> loads;
  for (auto& [link, load] : by_link) loads.push_back(std::move(load));
  std::ranges::sort(loads);
  const auto equal = std::ranges::unique(loads);
  loads.erase(equal.begin(), equal.end());
  return loads;
}

LeastTime::Step LeastTime::step_of(const PhaseCost& cost, Protocol protocol, RouteCache& routes) {
  Loads loads;
  loads.add(cost, protocol, routes, Links::every);
  Step step{.loads = std::move(loads).distinct(),
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

// Adds up the flows of all groups on the links that several groups may share. FATPIPE links are
// left out, since they have no contention.
void LeastTime::add_together(Variant& variant, const std::vector<const AlgorithmChoice*>& choices,
                             RouteCache& routes) {
  variant.latency = std::numeric_limits<double>::infinity();
  Loads loads;
  for (const AlgorithmChoice* choice : choices)
    for (const PhaseCost& cost : choice->phases) {
      variant.latency =
          std::min(variant.latency, cost.latency[static_cast<std::size_t>(variant.protocol)]);
      loads.add(cost, variant.protocol, routes, Links::shared);
    }
  variant.together = std::move(loads).distinct();
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
  RouteCache routes(placement);
  for (const AlgorithmProtocol& method : methods) {
    Variant& variant = variants_.emplace_back(Variant{
        .algorithm = method.algorithm, .protocol = method.protocol, .rounds_bytes = together});
    std::vector<const AlgorithmChoice*> together_choices;
    for (const std::vector<AlgorithmChoice>& group_choices : choices_by_group) {
      std::vector<Step>& steps = variant.groups.emplace_back();
      const auto choice =
          std::ranges::find(group_choices, method.algorithm, &AlgorithmChoice::algorithm);
      if (choice == group_choices.end() ||
          std::ranges::find(choice->protocols, method.protocol) == choice->protocols.end())
        continue;
      together_choices.push_back(&*choice);
      for (const PhaseCost& cost : choice->phases)
        steps.push_back(step_of(cost, method.protocol, routes));
    }
    const bool has_all = together_choices.size() == choices_by_group.size();
    if (together && has_all && choices_by_group.size() > 1)
      add_together(variant, together_choices, routes);
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
