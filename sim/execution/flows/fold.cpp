#include "sim/execution/flows/fold.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sim/workload/batch/random.hpp"

namespace pipewright::execution {
namespace {

using Index = std::uint32_t;
using Color = std::uint64_t;

using pipewright::mix;
Color mix(double x) { return mix(std::bit_cast<Color>(x)); }

// All flows of all groups, and the shared links that they cross. Each has a colour; sums of hashes
// stand for multisets of colours, so that no result depends on an order or an address.
class FlowSymmetry {
 public:
  FlowSymmetry(const RankPlacement& placement, std::span<const std::vector<Phase>> plans,
               std::span<const std::uint64_t> kinds)
      : placement_(placement) {
    for (const std::vector<Phase>& phases : plans) {
      Color color = phases.size();
      kinds_.push_back(kinds.empty() ? 0 : kinds[groups_.size()]);
      color = mix(color) ^ mix(kinds_.back());
      for (Index step = 0; step < phases.size(); ++step) {
        color = mix(color) ^ mix(phases[step].latency);
        for (const Flow& flow : phases[step].flows) add(flow, step);
      }
      groups_.push_back(color);
    }
    while (refine()) {
    }
  }

  using StandIns = std::unordered_map<const cluster::Link*, const cluster::Link*>;
  // Which class of flows has a link that stands for many: a link of those many carries flows of one
  // class of a kind, so the other classes stay on links of their own.
  using Owners = std::map<std::pair<Color, const cluster::Link*>, Color>;
  Folded fold(const cluster::Cluster& cluster, std::span<const std::vector<Phase>> plans,
              const StandIns& others) const;

 private:
  struct PlannedFlow {
    const Flow* flow;
    Index group;
    Index step;
    std::uint64_t bytes;
    std::size_t links_end;  // in links_of_; they begin where those of the flow before it end
    Color color;
  };
  struct SharedLink {
    const cluster::Link* link;
    Color color;
  };

  void add(const Flow& flow, Index step);
  bool refine();
  std::span<const Index> links_of(std::size_t flow_index) const {
    const std::size_t begin = flow_index == 0 ? 0 : planned_[flow_index - 1].links_end;
    return {links_of_.data() + begin, planned_[flow_index].links_end - begin};
  }
  cluster::Route representative(const cluster::Cluster& cluster, std::size_t flow_index,
                                const std::unordered_map<Index, Index>& times,
                                const StandIns& others, Owners& owners) const;

  const RankPlacement& placement_;
  std::vector<PlannedFlow> planned_;
  std::vector<Index> links_of_;
  std::vector<SharedLink> links_;
  std::vector<Color> groups_;
  std::vector<Color> kinds_;  // of groups, as given
  std::unordered_map<const cluster::Link*, Index> index_of_;
  std::size_t classes_ = 0;
};

void FlowSymmetry::add(const Flow& flow, Index step) {
  const auto bytes = static_cast<std::uint64_t>(std::llround(flow.bytes));
  const cluster::Route route = placement_.route(flow.source, flow.destination);
  if (bytes == 0 || route.links.empty()) return;
  double cap = std::numeric_limits<double>::infinity();
  for (const cluster::Link* link : route.links) {
    const double bandwidth = cluster::Cluster::capacity_of(link);
    if (!cluster::is_shared(link)) {
      cap = std::min(cap, bandwidth);
      continue;
    }
    const auto [place, is_new] = index_of_.emplace(link, static_cast<Index>(links_.size()));
    if (is_new) links_.push_back({link, mix(bandwidth)});
    links_of_.push_back(place->second);
  }
  planned_.push_back({.flow = &flow,
                      .group = static_cast<Index>(groups_.size()),
                      .step = step,
                      .bytes = bytes,
                      .links_end = links_of_.size(),
                      .color = mix(mix(bytes) + step) ^ mix(cap)});
}

// One round; false if it parts nothing any more.
bool FlowSymmetry::refine() {
  std::vector<Color> of_links(links_.size());
  std::vector<Color> of_groups(groups_.size());
  std::unordered_set<Color> colors;
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    PlannedFlow& planned = planned_[i];
    Color sum = mix(groups_[planned.group]);
    for (const Index link : links_of(i)) sum += mix(links_[link].color);
    planned.color = mix(mix(planned.color) + sum);
    for (const Index link : links_of(i)) of_links[link] += mix(planned.color);
    of_groups[planned.group] += mix(planned.color);
    colors.insert(planned.color);
  }
  std::size_t classes = colors.size();
  colors.clear();
  for (std::size_t i = 0; i < links_.size(); ++i)
    colors.insert(links_[i].color = mix(mix(links_[i].color) + of_links[i]));
  classes += colors.size();
  colors.clear();
  for (std::size_t i = 0; i < groups_.size(); ++i)
    colors.insert(groups_[i] = mix(mix(groups_[i]) + of_groups[i]));
  classes += colors.size();
  return classes > std::exchange(classes_, classes);
}

// The route of one flow over the links that stand for their classes, each as many times as flows of
// this class cross it.
cluster::Route FlowSymmetry::representative(const cluster::Cluster& cluster, std::size_t flow_index,
                                            const std::unordered_map<Index, Index>& times,
                                            const StandIns& others, Owners& owners) const {
  const auto stand_in = [&](Index link) {
    const cluster::Link* const here = links_[link].link;
    const auto found = others.find(here);
    if (found == others.end()) return here;
    const Color owner = owners
                            .try_emplace({kinds_[planned_[flow_index].group], found->second},
                                         planned_[flow_index].color)
                            .first->second;
    return owner == planned_[flow_index].color ? found->second : here;
  };
  const Flow& flow = *planned_[flow_index].flow;
  cluster::Route own = placement_.route(flow.source, flow.destination);
  const auto once = [&](Index link) {
    const auto found = times.find(link);
    return found != times.end() && found->second == 1 && stand_in(link) == links_[link].link;
  };
  if (times.size() == links_of(flow_index).size() &&
      std::ranges::all_of(links_of(flow_index), once))
    return own;

  std::vector<std::pair<Index, Index>> sorted(times.begin(), times.end());
  std::ranges::sort(sorted);
  std::vector<const cluster::Link*> links;
  for (const auto& [link, count] : sorted) links.insert(links.end(), count, stand_in(link));
  for (const cluster::Link* link : own.links)
    if (!cluster::is_shared(link)) links.push_back(link);
  return cluster.add_route(links);
}

Folded FlowSymmetry::fold(const cluster::Cluster& cluster,
                          std::span<const std::vector<Phase>> plans, const StandIns& others) const {
  Folded folded;
  std::unordered_map<Color, Index> link_of_class;
  for (Index link = 0; link < links_.size(); ++link) {
    const Index first = link_of_class.emplace(links_[link].color, link).first->second;
    folded.stand_in.emplace(links_[link].link, links_[first].link);
  }

  // Of each class of flows: how many of them cross the links that stand for classes.
  std::unordered_map<Color, std::unordered_map<Index, Index>> times;
  for (std::size_t i = 0; i < planned_.size(); ++i)
    for (const Index link : links_of(i))
      if (link_of_class.at(links_[link].color) == link) ++times[planned_[i].color][link];

  Owners owners;
  std::unordered_map<Color, Index> plan_of_class;
  std::size_t flow_index = 0;
  for (Index group = 0; group < groups_.size(); ++group) {
    const auto [place, is_new] =
        plan_of_class.emplace(groups_[group], static_cast<Index>(folded.transfer_plans.size()));
    folded.plan_of.push_back(place->second);
    TransferPlan transfer_plan{.cluster = &cluster, .host = placement_.host(0)};
    for (const Phase& phase : plans[group])
      transfer_plan.steps.push_back({.latency = phase.latency});
    std::unordered_set<Color> known;
    for (; flow_index < planned_.size() && planned_[flow_index].group == group; ++flow_index) {
      if (!is_new || !known.insert(planned_[flow_index].color).second) continue;
      const cluster::Route route =
          representative(cluster, flow_index, times[planned_[flow_index].color], others, owners);
      transfer_plan.steps[planned_[flow_index].step].transfers.push_back(
          {route.source, route.destination, planned_[flow_index].bytes});
    }
    if (is_new)
      folded.transfer_plans.push_back(
          std::make_shared<const TransferPlan>(std::move(transfer_plan)));
  }
  return folded;
}

}  // namespace

Folded fold(const cluster::Cluster& cluster, const RankPlacement& placement,
            std::span<const std::vector<Phase>> plans, std::span<const std::uint64_t> kinds) {
  return FlowSymmetry(placement, plans, kinds).fold(cluster, plans, {});
}

Folded fold_beside(const Folded& others, const cluster::Cluster& cluster,
                   const RankPlacement& placement, std::span<const std::vector<Phase>> plans,
                   std::span<const std::uint64_t> kinds) {
  return FlowSymmetry(placement, plans, kinds).fold(cluster, plans, others.stand_in);
}

}  // namespace pipewright::execution
