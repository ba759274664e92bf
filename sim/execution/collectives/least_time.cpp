#include "sim/execution/collectives/least_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "sim/cluster/simgrid.hpp"
#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

using workload::Collective;

bool is_fatpipe(const cluster::Link* link) {
  return link->get_sharing_policy() == cluster::sg4::Link::SharingPolicy::FATPIPE;
}

// Flows are of whole bytes, to the nearest; a rounding must not take one away.
double rounded(double bytes) { return std::floor(bytes + 0.25); }

// Adds a flow to those of a link. Of a FATPIPE link the largest counts.
void add(std::vector<std::pair<double, std::uint32_t>>& flows, double part, bool fatpipe) {
  const auto place =
      std::ranges::lower_bound(flows, part, {}, &std::pair<double, std::uint32_t>::first);
  if (fatpipe) {
    if (flows.empty() || flows.back().first < part) flows.assign(1, {part, 1});
  } else if (place != flows.end() && place->first == part) {
    ++place->second;
  } else {
    flows.insert(place, {part, 1});
  }
}

template <class Loads>
double slowest(const Loads& loads, double bytes, bool whole) {
  double seconds = 0;
  for (const auto& load : loads) seconds = std::max(seconds, load.seconds(bytes, whole));
  return seconds;
}

}  // namespace

double LeastTime::Load::seconds(double bytes, bool whole) const {
  double sum = 0;
  for (const auto& [part, count] : flows)
    sum += count * (whole ? rounded(part * bytes) : part * bytes);
  return sum / bandwidth;
}

double LeastTime::Step::latency_of(double bytes) const {
  if (transfer == 0 || bytes <= 0) return latency;
  return latency + (1 / tree_efficiency(bytes) - 1) * transfer * bytes;
}

double LeastTime::Step::seconds(double bytes, bool whole) const {
  return slowest(loads, bytes, whole) + latency_of(bytes);
}

double LeastTime::Way::alone(std::size_t group, double bytes) const {
  double sum = 0;
  for (const Step& step : groups[group]) sum += step.seconds(bytes, whole);
  return sum;
}

double LeastTime::Way::all(double bytes) const {
  double seconds = 0;
  for (std::size_t group = 0; group < groups.size(); ++group)
    seconds = std::max(seconds, alone(group, bytes));
  return together.empty() ? seconds : std::max(seconds, slowest(together, bytes, whole) + latency);
}

// Of a phase of one byte.
LeastTime::Step LeastTime::step_of(const Phase& phase, bool is_tree, const Places& places) {
  std::map<const cluster::Link*, Load> by_link;
  for (const Flow& flow : phase.flows)
    for (const cluster::Link* link : places.route(flow.source, flow.destination).links) {
      Load& load = by_link[link];
      load.bandwidth = cluster::Cluster::bandwidth_of(link);
      add(load.flows, flow.bytes, is_fatpipe(link));
    }
  Step step{.latency = phase.latency};
  for (auto& [link, load] : by_link) step.loads.push_back(std::move(load));
  std::ranges::sort(step.loads);
  const auto equal = std::ranges::unique(step.loads);
  step.loads.erase(equal.begin(), equal.end());
  if (!is_tree) return step;
  for (const Load& load : step.loads) {
    double bytes = 0;
    for (const auto& [part, count] : load.flows) bytes += part * count;
    step.transfer = std::max(step.transfer, bytes / load.bandwidth);
  }
  step.latency -= (1 / tree_efficiency(1) - 1) * step.transfer;
  return step;
}

LeastTime::Way LeastTime::way(Collective kind, const Groups& groups, Algorithm algorithm,
                              const Places& places, bool together) {
  Way way{.whole = together, .latency = std::numeric_limits<double>::infinity()};
  std::map<const cluster::Link*, Load> by_link;
  for (const auto& group : groups) {
    const std::vector<Phase> phases = plan(kind, 1, group, algorithm, places);
    std::vector<Step>& steps = way.groups.emplace_back();
    const bool is_tree = algorithm == Algorithm::tree && kind == Collective::all_reduce;
    for (const Phase& phase : phases) {
      steps.push_back(step_of(phase, is_tree, places));
      way.latency = std::min(way.latency, steps.back().latency);
      if (!together || groups.size() == 1) continue;
      for (const Flow& flow : phase.flows)
        for (const cluster::Link* link : places.route(flow.source, flow.destination).links) {
          // A FATPIPE link holds nobody up for others.
          if (is_fatpipe(link)) continue;
          Load& load = by_link[link];
          load.bandwidth = cluster::Cluster::bandwidth_of(link);
          add(load.flows, flow.bytes, false);
        }
    }
  }
  for (auto& [link, load] : by_link) way.together.push_back(std::move(load));
  std::ranges::sort(way.together);
  const auto equal = std::ranges::unique(way.together);
  way.together.erase(equal.begin(), equal.end());
  return way;
}

LeastTime::LeastTime(Collective kind, const Groups& groups, Algorithm algorithm,
                     const Places& places, bool together) {
  const bool chooses = algorithm == Algorithm::automatic && kind == Collective::all_reduce;
  if (groups.empty() || groups.front().size() < 2) return;
  ways_.push_back(way(kind, groups, chooses ? Algorithm::ring : algorithm, places, together));
  if (chooses && groups.front().size() > 2)
    ways_.push_back(way(kind, groups, Algorithm::tree, places, together));
  merge_equal();
}

// Most groups are placed alike.
void LeastTime::merge_equal() {
  std::vector<std::size_t> kept;
  for (std::size_t group = 0; group < ways_.front().groups.size(); ++group) {
    const auto is_like = [&](std::size_t other) {
      return std::ranges::all_of(
          ways_, [&](const Way& way) { return way.groups[group] == way.groups[other]; });
    };
    if (std::ranges::none_of(kept, is_like)) kept.push_back(group);
  }
  for (Way& way : ways_) {
    std::vector<std::vector<Step>> groups;
    for (const std::size_t group : kept) groups.push_back(std::move(way.groups[group]));
    way.groups = std::move(groups);
  }
}

double LeastTime::seconds(std::uint64_t bytes) const {
  if (ways_.empty() || bytes == 0) return 0;
  const auto count = static_cast<double>(bytes);
  if (ways_.size() == 1) return ways_.front().all(count);
  // Each group takes the faster way. What they do together is known where all take the same.
  double alone = 0;
  bool all_ring = true;
  bool all_tree = true;
  for (std::size_t group = 0; group < ways_.front().groups.size(); ++group) {
    const double ring = ways_.front().alone(group, count);
    const double tree = ways_.back().alone(group, count);
    alone = std::max(alone, std::min(ring, tree));
    constexpr double clearly = 1 - 1e-6;
    all_ring = all_ring && ring < tree * clearly;
    all_tree = all_tree && tree < ring * clearly;
  }
  if (all_ring) return ways_.front().all(count);
  return all_tree ? ways_.back().all(count) : alone;
}

}  // namespace pipewright::execution
