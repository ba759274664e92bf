#include "sim/execution/collectives/least_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

namespace pipewright::execution {
namespace {

using workload::Collective;

// Flows are of whole bytes, to the nearest; a rounding must not take one away.
double rounded(double bytes) { return std::floor(bytes + 0.25); }

template <class Loads>
double slowest(const Loads& loads, double bytes, bool whole) {
  double seconds = 0;
  for (const auto& load : loads) seconds = std::max(seconds, load.seconds(bytes, whole));
  return seconds;
}

}  // namespace

// Of a FATPIPE link the largest counts.
void LeastTime::Load::add(double part, bool shared) {
  const auto place =
      std::ranges::lower_bound(flows, part, {}, &std::pair<double, std::uint32_t>::first);
  if (!shared) {
    if (flows.empty() || flows.back().first < part) flows.assign(1, {part, 1});
  } else if (place != flows.end() && place->first == part) {
    ++place->second;
  } else {
    flows.insert(place, {part, 1});
  }
}

double LeastTime::Load::seconds(double bytes, bool whole) const {
  double sum = 0;
  for (const auto& [part, count] : flows)
    sum += count * (whole ? rounded(part * bytes) : part * bytes);
  return sum / bandwidth;
}

bool LeastTime::Step::operator==(const Step& other) const {
  return loads == other.loads && cost.latency == other.cost.latency &&
         cost.ends == other.cost.ends && cost.is_tree == other.cost.is_tree &&
         transfer == other.transfer;
}

double LeastTime::Step::seconds(Protocol protocol, double bytes, bool whole) const {
  return slowest(loads, bytes, whole) + overhead(cost, transfer, protocol, bytes);
}

double LeastTime::Variant::alone(std::size_t group, double bytes) const {
  double sum = 0;
  for (const Step& step : groups[group]) sum += step.seconds(protocol, bytes, whole);
  return sum;
}

double LeastTime::Variant::all(double bytes) const {
  double seconds = 0;
  for (std::size_t group = 0; group < groups.size(); ++group)
    seconds = std::max(seconds, alone(group, bytes));
  return together.empty() ? seconds : std::max(seconds, slowest(together, bytes, whole) + latency);
}

// Between ranks, which meet in each protocol and alone as together.
class LeastTime::Ways {
 public:
  explicit Ways(const RankPlacement& placement) : placement_(placement) {}

  const cluster::Route& of(const Flow& flow) {
    const std::uint64_t key = std::uint64_t{flow.source} << 32U | flow.destination;
    const auto [place, is_new] = known_.try_emplace(key);
    if (is_new) place->second = placement_.route(flow.source, flow.destination);
    return place->second;
  }
  double capacity_of(const cluster::Link* link) const { return placement_.capacity_of(link); }

 private:
  const RankPlacement& placement_;
  std::unordered_map<std::uint64_t, cluster::Route> known_;
};

// The plan's own flows of a phase of one byte; the time that it adds to them counts beside.
void LeastTime::Loads::add(const PhaseCost& cost, Protocol protocol, Ways& ways, Links which) {
  for (const Flow& flow : cost.flows) {
    const cluster::Route& route = ways.of(flow);
    const double bytes = flow.bytes * on_wire(cost, route, protocol);
    for (const cluster::Link* link : route.links) {
      const bool shared = cluster::is_shared(link);
      if (which == Links::shared && !shared) continue;
      Load& load = by_link[link];
      if (load.flows.empty()) load.bandwidth = ways.capacity_of(link);
      load.add(bytes, shared);
    }
  }
}

std::vector<LeastTime::Load> LeastTime::Loads::unlike() && {
  std::vector<Load> loads;
  for (auto& [link, load] : by_link) loads.push_back(std::move(load));
  std::ranges::sort(loads);
  const auto equal = std::ranges::unique(loads);
  loads.erase(equal.begin(), equal.end());
  return loads;
}

LeastTime::Step LeastTime::step_of(const PhaseCost& cost, Protocol protocol, Ways& ways) {
  Loads loads;
  loads.add(cost, protocol, ways, Links::all);
  Step step{.loads = std::move(loads).unlike(),
            .cost = {.flows = {},
                     .latency = cost.latency,
                     .ends = cost.ends,
                     .is_tree = cost.is_tree,
                     .is_raw = cost.is_raw},
            .transfer = {}};
  step.transfer[static_cast<std::size_t>(protocol)] = slowest(step.loads, 1, false);
  return step;
}

// What all groups put on the links that several may share. A FATPIPE link holds nobody up for
// others.
void LeastTime::add_together(Variant& variant, const std::vector<const AlgorithmChoice*>& choices,
                             Ways& ways) {
  variant.latency = std::numeric_limits<double>::infinity();
  Loads loads;
  for (const AlgorithmChoice* choice : choices)
    for (const PhaseCost& cost : choice->phases) {
      variant.latency =
          std::min(variant.latency, cost.latency[static_cast<std::size_t>(variant.protocol)]);
      loads.add(cost, variant.protocol, ways, Links::shared);
    }
  variant.together = std::move(loads).unlike();
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
  add_variants(choices, placement, together);
  count_ = variants_.size();
  if (count_ > 1) look_as_nccl(groups, choices, placement);
  if (count_ > 1 && views_.empty() && placement.cluster().has_tuning_model()) {
    const RankPlacement expected = placement.expected();
    add_variants(choices_on(expected), expected, false);
  }
  merge_equal();
}

void LeastTime::add_variants(const Choices& choices_of, const RankPlacement& placement,
                             bool together) {
  Ways ways(placement);
  for (std::size_t i = 0; i < choices_of.front().size(); ++i)
    for (const Protocol protocol : choices_of.front()[i].protocols) {
      Variant& variant = variants_.emplace_back(Variant{
          .algorithm = choices_of.front()[i].algorithm, .protocol = protocol, .whole = together});
      std::vector<const AlgorithmChoice*> all;
      for (const std::vector<AlgorithmChoice>& of_group : choices_of) {
        // Groups that differ may have other choices: their last one stands for those that they
        // lack.
        const AlgorithmChoice& choice = of_group[std::min(i, of_group.size() - 1)];
        all.push_back(&choice);
        std::vector<Step>& steps = variant.groups.emplace_back();
        for (const PhaseCost& cost : choice.phases) steps.push_back(step_of(cost, protocol, ways));
      }
      if (together && choices_of.size() > 1) add_together(variant, all, ways);
    }
}

void LeastTime::look_as_nccl(const Groups& groups, const Choices& choices_of,
                             const RankPlacement& placement) {
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto view = nccl_view(kind_, groups[group], choices_of[group], placement);
    if (!view) return views_.clear();
    views_.push_back(*view);
  }
}

// Most groups are placed alike.
void LeastTime::merge_equal() {
  std::vector<std::size_t> kept;
  for (std::size_t group = 0; group < variants_.front().groups.size(); ++group) {
    const auto is_like = [&](std::size_t other) {
      if (!views_.empty() && views_[group] != views_[other]) return false;
      return std::ranges::all_of(variants_, [&](const Variant& variant) {
        return variant.groups[group] == variant.groups[other];
      });
    };
    if (std::ranges::none_of(kept, is_like)) kept.push_back(group);
  }
  std::vector<NcclView> views;
  for (const std::size_t group : kept)
    if (!views_.empty()) views.push_back(views_[group]);
  views_ = std::move(views);
  for (Variant& variant : variants_) {
    std::vector<std::vector<Step>> groups;
    for (const std::size_t group : kept) groups.push_back(std::move(variant.groups[group]));
    variant.groups = std::move(groups);
  }
}

double LeastTime::seconds(std::uint64_t bytes) const {
  if (variants_.empty() || bytes == 0) return 0;
  const auto count = static_cast<double>(bytes);
  if (count_ == 1) return variants_.front().all(count);
  // Each group takes the variant that NCCL takes for the fastest. What they do together is known
  // where all take the same.
  double alone = 0;
  std::size_t taken = count_;
  bool all_alike = true;
  for (std::size_t group = 0; group < variants_.front().groups.size(); ++group) {
    double least = std::numeric_limits<double>::infinity();
    double second = least;
    std::size_t best = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const double seconds = to_choose_by(i, group, count);
      if (seconds < least) {
        second = least;
        least = seconds;
        best = i;
      } else {
        second = std::min(second, seconds);
      }
    }
    alone = std::max(alone, variants_[best].alone(group, count));
    constexpr double clearly = 1 - 1e-6;
    all_alike = all_alike && least < second * clearly && (group == 0 || best == taken);
    taken = best;
  }
  return all_alike ? variants_[taken].all(count) : alone;
}

}  // namespace pipewright::execution
