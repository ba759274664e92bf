#include "sim/execution/collectives/least_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "sim/cluster/simgrid.hpp"

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

bool LeastTime::Step::operator==(const Step& other) const {
  return loads == other.loads && draft.latency == other.draft.latency &&
         draft.ends == other.draft.ends && draft.is_tree == other.draft.is_tree &&
         transfer == other.transfer;
}

double LeastTime::Step::seconds(Protocol protocol, double bytes, bool whole) const {
  return slowest(loads, bytes, whole) + overhead(draft, transfer, protocol, bytes);
}

double LeastTime::Means::alone(std::size_t group, double bytes) const {
  double sum = 0;
  for (const Step& step : groups[group]) sum += step.seconds(protocol, bytes, whole);
  return sum;
}

double LeastTime::Means::all(double bytes) const {
  double seconds = 0;
  for (std::size_t group = 0; group < groups.size(); ++group)
    seconds = std::max(seconds, alone(group, bytes));
  return together.empty() ? seconds : std::max(seconds, slowest(together, bytes, whole) + latency);
}

// Of a phase of one byte.
LeastTime::Step LeastTime::step_of(const Draft& draft, Protocol protocol, const Places& places) {
  std::map<const cluster::Link*, Load> by_link;
  // The plan's own flows; the time that it adds to them counts beside.
  const Phase phase = phase_of(draft, {}, protocol, 1, places);
  for (const Flow& flow : phase.flows)
    for (const cluster::Link* link : places.route(flow.source, flow.destination).links) {
      Load& load = by_link[link];
      load.bandwidth = places.bandwidth_of(link);
      add(load.flows, flow.bytes, is_fatpipe(link));
    }
  Step step{.loads = {}, .draft = draft, .transfer = {}};
  step.draft.flows.clear();
  double transfer = 0;
  for (auto& [link, load] : by_link) {
    double bytes = 0;
    for (const auto& [part, count] : load.flows) bytes += part * count;
    transfer = std::max(transfer, bytes / load.bandwidth);
    step.loads.push_back(std::move(load));
  }
  step.transfer[static_cast<std::size_t>(protocol)] = transfer;
  std::ranges::sort(step.loads);
  const auto equal = std::ranges::unique(step.loads);
  step.loads.erase(equal.begin(), equal.end());
  return step;
}

// What all groups put on the links that several may share.
void LeastTime::add_together(Means& means, const std::vector<const Way*>& ways,
                             const Places& places) {
  means.latency = std::numeric_limits<double>::infinity();
  std::map<const cluster::Link*, Load> by_link;
  for (const Way* way : ways)
    for (const Draft& draft : way->phases) {
      means.latency =
          std::min(means.latency, draft.latency[static_cast<std::size_t>(means.protocol)]);
      for (const Flow& flow : phase_of(draft, {}, means.protocol, 1, places).flows)
        for (const cluster::Link* link : places.route(flow.source, flow.destination).links) {
          // A FATPIPE link holds nobody up for others.
          if (is_fatpipe(link)) continue;
          Load& load = by_link[link];
          load.bandwidth = places.bandwidth_of(link);
          add(load.flows, flow.bytes, false);
        }
    }
  for (auto& [link, load] : by_link) means.together.push_back(std::move(load));
  std::ranges::sort(means.together);
  const auto equal = std::ranges::unique(means.together);
  means.together.erase(equal.begin(), equal.end());
}

LeastTime::LeastTime(Collective kind, const Groups& groups, Algorithm algorithm,
                     const Places& places, bool together) {
  if (groups.empty() || groups.front().size() < 2) return;
  add_means(kind, groups, algorithm, places, together);
  count_ = means_.size();
  if (count_ > 1 && places.cluster().expects_otherwise())
    add_means(kind, groups, algorithm, places.expected(), false);
  merge_equal();
}

void LeastTime::add_means(Collective kind, const Groups& groups, Algorithm algorithm,
                          const Places& places, bool together) {
  std::vector<std::vector<Way>> ways_of;  // each group
  for (const auto& group : groups) ways_of.push_back(ways(kind, group, algorithm, places));
  for (std::size_t i = 0; i < ways_of.front().size(); ++i)
    for (const Protocol protocol : ways_of.front()[i].protocols) {
      Means& means = means_.emplace_back(Means{.protocol = protocol, .whole = together});
      std::vector<const Way*> all;
      for (const std::vector<Way>& of_group : ways_of) {
        // Groups that differ may have other ways: their last one stands for those that they lack.
        const Way& way = of_group[std::min(i, of_group.size() - 1)];
        all.push_back(&way);
        std::vector<Step>& steps = means.groups.emplace_back();
        for (const Draft& draft : way.phases) steps.push_back(step_of(draft, protocol, places));
      }
      if (together && groups.size() > 1) add_together(means, all, places);
    }
}

// Most groups are placed alike.
void LeastTime::merge_equal() {
  std::vector<std::size_t> kept;
  for (std::size_t group = 0; group < means_.front().groups.size(); ++group) {
    const auto is_like = [&](std::size_t other) {
      return std::ranges::all_of(
          means_, [&](const Means& means) { return means.groups[group] == means.groups[other]; });
    };
    if (std::ranges::none_of(kept, is_like)) kept.push_back(group);
  }
  for (Means& means : means_) {
    std::vector<std::vector<Step>> groups;
    for (const std::size_t group : kept) groups.push_back(std::move(means.groups[group]));
    means.groups = std::move(groups);
  }
}

double LeastTime::seconds(std::uint64_t bytes) const {
  if (means_.empty() || bytes == 0) return 0;
  const auto count = static_cast<double>(bytes);
  if (count_ == 1) return means_.front().all(count);
  // Each group takes the means that NCCL takes for the fastest. What they do together is known
  // where all take the same.
  double alone = 0;
  std::size_t taken = count_;
  bool all_alike = true;
  for (std::size_t group = 0; group < means_.front().groups.size(); ++group) {
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
    alone = std::max(alone, means_[best].alone(group, count));
    constexpr double clearly = 1 - 1e-6;
    all_alike = all_alike && least < second * clearly && (group == 0 || best == taken);
    taken = best;
  }
  return all_alike ? means_[taken].all(count) : alone;
}

}  // namespace pipewright::execution
