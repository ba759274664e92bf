#include "sim/execution/flows/fold.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sim/base/mix.hpp"
#include "sim/execution/collectives/many_routes.hpp"
#include "sim/execution/flows/limiting_links.hpp"
#include "sim/workload/batch/random.hpp"

namespace pipewright::execution {
namespace {

using Index = std::uint32_t;
using Color = std::uint64_t;

Color mix_double(double x) { return base::mix(std::bit_cast<Color>(x)); }

std::size_t count_flows(std::span<const std::vector<Phase>> plans) {
  std::size_t count = 0;
  for (const std::vector<Phase>& phases : plans)
    for (const Phase& phase : phases) count += phase.flows.size();
  return count;
}

// Colour refinement of the flows of all groups and the shared links that they cross. Sums of hashes
// stand for multisets of colours, so that no result depends on an order or an address.
class FlowSymmetry {
 public:
  // Representatives of the classes of links that other traffic has.
  using StandIns = std::unordered_map<const cluster::Link*, const cluster::Link*>;
  // Links of different classes in `existing` are in different classes here.
  FlowSymmetry(const RankPlacement& placement, std::span<const std::vector<Phase>> plans,
               std::span<const std::uint64_t> kinds, LinkOrder order,
               FoldedLinks folded_links = FoldedLinks::shared, const StandIns& existing = {})
      : placement_(placement), order_(order), existing_(existing) {
    ManyRoutes routes(placement, count_flows(plans));
    LimitingLinks limiting_links;
    std::unordered_set<std::uint64_t> pairs;  // of ranks, whose route is in limiting_links
    for (const std::vector<Phase>& phases : plans) {
      Color color = phases.size();
      kinds_.push_back(kinds.empty() ? 0 : kinds[groups_.size()]);
      color = base::mix(color) ^ base::mix(kinds_.back());
      for (Index step = 0; step < phases.size(); ++step) {
        color = base::mix(color) ^ mix_double(phases[step].latency);
        for (const Flow& flow : phases[step].flows) {
          const cluster::Route& route = routes.route(flow.source, flow.destination);
          add(flow, step, route);
          if (folded_links == FoldedLinks::limiting &&
              pairs.insert(std::uint64_t{flow.source} << 32U | flow.destination).second)
            limiting_links.add(route.links);
        }
      }
      groups_.push_back(color);
    }
    if (folded_links == FoldedLinks::limiting) keep(limiting_links);
  }
  // Refines to the end. Call it, or refine_replicas(), once and before anything else.
  void refine_fully() {
    while (refine()) {
    }
  }
  // Refines the replicas that take part in groups along with flows and links. Returns the colours
  // of the replicas, empty if there are more than `most` different ones.
  std::vector<Color> refine_replicas(const Participants& participants, std::uint32_t replicas,
                                     std::size_t most);

  const std::vector<Color>& classes_of_groups() const { return groups_; }

  // Classes of flows that may use a representative link of `existing`, by kind and link: those that
  // cross the link itself or, if no flow of the kind does, the first class that crosses another
  // link of its class. Flows of other classes stay on their own links, as no single link carries
  // them all.
  using Owners = std::map<std::pair<Color, const cluster::Link*>, std::set<Color>>;
  Folded fold(const cluster::Cluster& cluster, std::span<const std::vector<Phase>> plans) const;

 private:
  struct PlannedFlow {
    const Flow* flow;
    Index group;
    Index step;
    std::uint64_t bytes;
    std::size_t
        links_end;  // end of its links in flow_links_; they begin at the previous flow's end
    Color color;
  };
  struct SharedLink {
    const cluster::Link* link;
    Color color;
  };

  void add(const Flow& flow, Index step, const cluster::Route& route);
  // Drops all links but the limiting ones.
  void keep(const LimitingLinks& limiting_links);
  Color first_color(const cluster::Link* link) const;
  Owners owners_of_existing() const;
  bool refine();
  struct Counts {
    std::size_t replicas = 0;  // classes
    std::size_t groups = 0;
  };
  Counts refine_participants(const Participants& participants);
  std::span<const Index> links_of(std::size_t flow_index) const {
    const std::size_t begin = flow_index == 0 ? 0 : planned_[flow_index - 1].links_end;
    return {flow_links_.data() + begin, planned_[flow_index].links_end - begin};
  }
  cluster::Route representative(const cluster::Cluster& cluster, std::size_t flow_index,
                                const std::unordered_map<Index, Index>& times,
                                Owners& owners) const;

  const RankPlacement& placement_;
  LinkOrder order_;
  StandIns existing_;
  std::vector<PlannedFlow> planned_;
  std::vector<Index> flow_links_;
  std::vector<SharedLink> links_;
  std::vector<Color> groups_;
  std::vector<Color> kinds_;  // by group, as passed to the constructor
  std::vector<Color> replicas_;
  static constexpr Index no_index = std::numeric_limits<Index>::max();
  std::vector<Index> index_of_;  // in links_, by number of the link
  std::size_t classes_ = 0;
};

void FlowSymmetry::add(const Flow& flow, Index step, const cluster::Route& route) {
  const auto bytes = static_cast<std::uint64_t>(std::llround(flow.bytes));
  if (bytes == 0 || route.links.empty()) return;
  double cap = std::numeric_limits<double>::infinity();
  for (const cluster::Link* link : route.links) {
    if (!cluster::is_shared(link)) {
      cap = std::min(cap, cluster::Cluster::capacity_of(link));
      continue;
    }
    if (link->number >= index_of_.size()) index_of_.resize(link->number + std::size_t{1}, no_index);
    Index& index = index_of_[link->number];
    if (index == no_index) {
      index = static_cast<Index>(links_.size());
      links_.push_back({link, first_color(link)});
    }
    flow_links_.push_back(index);
  }
  planned_.push_back({.flow = &flow,
                      .group = static_cast<Index>(groups_.size()),
                      .step = step,
                      .bytes = bytes,
                      .links_end = flow_links_.size(),
                      .color = base::mix(base::mix(bytes) + step) ^ mix_double(cap)});
}

void FlowSymmetry::keep(const LimitingLinks& limiting_links) {
  std::vector<SharedLink> links;
  std::vector<Index> new_index;  // of each link in `links`
  for (const SharedLink& shared : links_) {
    const bool may_limit = limiting_links.may_limit(shared.link);
    new_index.push_back(may_limit ? static_cast<Index>(links.size()) : no_index);
    if (may_limit) links.push_back(shared);
  }
  std::size_t end = 0;
  std::size_t at = 0;
  for (PlannedFlow& planned : planned_) {
    for (; at < planned.links_end; ++at)
      if (const Index index = new_index[flow_links_[at]]; index != no_index)
        flow_links_[end++] = index;
    planned.links_end = end;
  }
  flow_links_.resize(end);
  links_ = std::move(links);
}

Color FlowSymmetry::first_color(const cluster::Link* link) const {
  const Color color = mix_double(cluster::Cluster::capacity_of(link));
  const auto it = existing_.find(link);
  return it == existing_.end() ? color : base::mix(color + it->second->number + 1);
}

// Runs one round of colour refinement. Returns false if the number of classes stays the same.
bool FlowSymmetry::refine() {
  std::vector<Color> link_sums(links_.size());
  std::vector<Color> group_sums(groups_.size());
  std::unordered_set<Color> colors;
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    PlannedFlow& planned = planned_[i];
    Color sum = base::mix(groups_[planned.group]);
    const std::span<const Index> links = links_of(i);
    const auto position = [&](std::size_t at) { return order_ == LinkOrder::kept ? at : 0; };
    for (std::size_t at = 0; at < links.size(); ++at)
      sum += base::mix(links_[links[at]].color + position(at));
    planned.color = base::mix(base::mix(planned.color) + sum);
    for (std::size_t at = 0; at < links.size(); ++at)
      link_sums[links[at]] += base::mix(planned.color + position(at));
    group_sums[planned.group] += base::mix(planned.color);
    colors.insert(planned.color);
  }
  std::size_t classes = colors.size();
  colors.clear();
  for (std::size_t i = 0; i < links_.size(); ++i)
    colors.insert(links_[i].color = base::mix(base::mix(links_[i].color) + link_sums[i]));
  classes += colors.size();
  colors.clear();
  for (std::size_t i = 0; i < groups_.size(); ++i)
    colors.insert(groups_[i] = base::mix(base::mix(groups_[i]) + group_sums[i]));
  classes += colors.size();
  return classes > std::exchange(classes_, classes);
}

// Runs one round of colour refinement between groups and their participants.
FlowSymmetry::Counts FlowSymmetry::refine_participants(const Participants& participants) {
  std::vector<Color> sums(replicas_.size());
  std::unordered_set<Color> of_groups;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    Color sum = 0;
    for (const Index replica : participants.of(group)) {
      sums[replica] += base::mix(groups_[group]);
      sum += base::mix(replicas_[replica]);
    }
    of_groups.insert(groups_[group] = base::mix(base::mix(groups_[group]) + sum));
  }
  std::unordered_set<Color> of_replicas;
  for (std::size_t replica = 0; replica < replicas_.size(); ++replica)
    of_replicas.insert(replicas_[replica] =
                           base::mix(base::mix(replicas_[replica]) + sums[replica]));
  return {of_replicas.size(), of_groups.size()};
}

std::vector<Color> FlowSymmetry::refine_replicas(const Participants& participants,
                                                 std::uint32_t replicas, std::size_t most) {
  replicas_.assign(replicas, 0);
  Counts counts;
  bool changed = true;
  while (changed) {
    changed = refine();
    const Counts before = std::exchange(counts, refine_participants(participants));
    if (counts.replicas > most) return {};
    changed = changed || counts.replicas > before.replicas || counts.groups > before.groups;
  }
  return replicas_;
}

FlowSymmetry::Owners FlowSymmetry::owners_of_existing() const {
  Owners owners;
  if (existing_.empty()) return owners;
  std::vector<bool> is_representative;
  for (const SharedLink& shared : links_) {
    const auto it = existing_.find(shared.link);
    is_representative.push_back(it != existing_.end() && it->second == shared.link);
  }
  for (std::size_t i = 0; i < planned_.size(); ++i)
    for (const Index link : links_of(i))
      if (is_representative[link])
        owners[{kinds_[planned_[i].group], links_[link].link}].insert(planned_[i].color);
  return owners;
}

// Route of a flow that stands for its class: crosses each representative link as many times as the
// flows of the class do together.
cluster::Route FlowSymmetry::representative(const cluster::Cluster& cluster, std::size_t flow_index,
                                            const std::unordered_map<Index, Index>& times,
                                            Owners& owners) const {
  const auto stand_in = [&](Index link) {
    const cluster::Link* const original = links_[link].link;
    const auto it = existing_.find(original);
    if (it == existing_.end()) return original;
    const Color color = planned_[flow_index].color;
    std::set<Color>& users = owners[{kinds_[planned_[flow_index].group], it->second}];
    if (users.empty()) users.insert(color);
    return users.contains(color) ? it->second : original;
  };
  const Flow& flow = *planned_[flow_index].flow;
  cluster::Route original_route = placement_.route(flow.source, flow.destination);
  const auto is_crossed_once = [&](Index link) {
    const auto it = times.find(link);
    return it != times.end() && it->second == 1 && stand_in(link) == links_[link].link;
  };
  if (times.size() == links_of(flow_index).size() &&
      std::ranges::all_of(links_of(flow_index), is_crossed_once))
    return original_route;

  std::vector<std::pair<Index, Index>> sorted(times.begin(), times.end());
  std::ranges::sort(sorted);
  std::vector<const cluster::Link*> links;
  for (const auto& [link, count] : sorted) links.insert(links.end(), count, stand_in(link));
  for (const cluster::Link* link : original_route.links)
    if (!cluster::is_shared(link)) links.push_back(link);
  return cluster.add_route(links);
}

Folded FlowSymmetry::fold(const cluster::Cluster& cluster,
                          std::span<const std::vector<Phase>> plans) const {
  Folded folded;
  std::unordered_map<Color, Index> link_of_class;
  for (Index link = 0; link < links_.size(); ++link) {
    const Index first = link_of_class.emplace(links_[link].color, link).first->second;
    folded.stand_in.emplace(links_[link].link, links_[first].link);
  }

  // Number of flows of each class that cross each representative link.
  std::unordered_map<Color, std::unordered_map<Index, Index>> times;
  for (std::size_t i = 0; i < planned_.size(); ++i)
    for (const Index link : links_of(i))
      if (link_of_class.at(links_[link].color) == link) ++times[planned_[i].color][link];

  Owners owners = owners_of_existing();
  std::unordered_map<Color, Index> plan_of_class;
  std::size_t flow_index = 0;
  for (Index group = 0; group < groups_.size(); ++group) {
    const auto [it, is_new] =
        plan_of_class.emplace(groups_[group], static_cast<Index>(folded.transfer_plans.size()));
    folded.plan_of.push_back(it->second);
    TransferPlan transfer_plan{.cluster = &cluster, .host = placement_.host(0)};
    for (const Phase& phase : plans[group])
      transfer_plan.steps.push_back({.latency = phase.latency});
    std::unordered_set<Color> seen_colors;
    for (; flow_index < planned_.size() && planned_[flow_index].group == group; ++flow_index) {
      if (!is_new || !seen_colors.insert(planned_[flow_index].color).second) continue;
      const cluster::Route route =
          representative(cluster, flow_index, times[planned_[flow_index].color], owners);
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
            std::span<const std::vector<Phase>> plans, std::span<const std::uint64_t> kinds,
            LinkOrder order, FoldedLinks links) {
  FlowSymmetry symmetry(placement, plans, kinds, order, links);
  symmetry.refine_fully();
  return symmetry.fold(cluster, plans);
}

std::vector<std::uint64_t> classes_of_groups(const RankPlacement& placement,
                                             std::span<const std::vector<Phase>> plans,
                                             std::span<const std::uint64_t> kinds) {
  FlowSymmetry symmetry(placement, plans, kinds, LinkOrder::kept);
  symmetry.refine_fully();
  return symmetry.classes_of_groups();
}

std::vector<std::uint64_t> classes_of_replicas(const RankPlacement& placement,
                                               std::span<const std::vector<Phase>> plans,
                                               std::span<const std::uint64_t> kinds,
                                               const Participants& participants,
                                               std::uint32_t replicas, std::size_t most,
                                               FoldedLinks links) {
  FlowSymmetry symmetry(placement, plans, kinds, LinkOrder::ignored, links);
  return symmetry.refine_replicas(participants, replicas, most);
}

Folded fold_beside(const Folded& base, const cluster::Cluster& cluster,
                   const RankPlacement& placement, std::span<const std::vector<Phase>> plans,
                   std::span<const std::uint64_t> kinds) {
  FlowSymmetry symmetry(placement, plans, kinds, LinkOrder::ignored, FoldedLinks::shared,
                        base.stand_in);
  symmetry.refine_fully();
  return symmetry.fold(cluster, plans);
}

}  // namespace pipewright::execution
