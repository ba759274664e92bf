#include "sim/execution/collectives/fold.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "sim/cluster/simgrid.hpp"

namespace pipewright::execution {
namespace {

using Index = std::uint32_t;
using Color = std::uint64_t;

// The finalizer of splitmix64 (Steele, Lea and Flood 2014).
Color mix(Color x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}
Color mix(double x) { return mix(std::bit_cast<Color>(x)); }

bool is_shared(const cluster::Link* link) {
  return link->get_sharing_policy() != cluster::sg4::Link::SharingPolicy::FATPIPE;
}

// All flows of all groups, and the shared links that they cross. Each has a colour; sums of hashes
// stand for multisets of colours, so that no result depends on an order or an address.
class Picture {
 public:
  Picture(const Places& places, std::span<const std::vector<Phase>> plans,
          std::span<const std::uint64_t> kinds)
      : places_(places) {
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
  struct Way {
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
  std::span<const Index> links_of(std::size_t way) const {
    const std::size_t begin = way == 0 ? 0 : ways_[way - 1].links_end;
    return {links_of_.data() + begin, ways_[way].links_end - begin};
  }
  cluster::Route representative(const cluster::Cluster& cluster, std::size_t way,
                                const std::unordered_map<Index, Index>& times,
                                const StandIns& others, Owners& owners) const;

  const Places& places_;
  std::vector<Way> ways_;
  std::vector<Index> links_of_;
  std::vector<SharedLink> links_;
  std::vector<Color> groups_;
  std::vector<Color> kinds_;  // of groups, as given
  std::unordered_map<const cluster::Link*, Index> index_of_;
  std::size_t classes_ = 0;
};

void Picture::add(const Flow& flow, Index step) {
  const auto bytes = static_cast<std::uint64_t>(std::llround(flow.bytes));
  const cluster::Route route = places_.route(flow.source, flow.destination);
  if (bytes == 0 || route.links.empty()) return;
  double cap = std::numeric_limits<double>::infinity();
  for (const cluster::Link* link : route.links) {
    const double bandwidth = cluster::Cluster::bandwidth_of(link);
    if (!is_shared(link)) {
      cap = std::min(cap, bandwidth);
      continue;
    }
    const auto [place, is_new] = index_of_.emplace(link, static_cast<Index>(links_.size()));
    if (is_new) links_.push_back({link, mix(bandwidth)});
    links_of_.push_back(place->second);
  }
  ways_.push_back({.flow = &flow,
                   .group = static_cast<Index>(groups_.size()),
                   .step = step,
                   .bytes = bytes,
                   .links_end = links_of_.size(),
                   .color = mix(mix(bytes) + step) ^ mix(cap)});
}

// One round; false if it parts nothing any more.
bool Picture::refine() {
  std::vector<Color> of_links(links_.size());
  std::vector<Color> of_groups(groups_.size());
  std::unordered_set<Color> colors;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    Way& way = ways_[i];
    Color sum = mix(groups_[way.group]);
    for (const Index link : links_of(i)) sum += mix(links_[link].color);
    way.color = mix(mix(way.color) + sum);
    for (const Index link : links_of(i)) of_links[link] += mix(way.color);
    of_groups[way.group] += mix(way.color);
    colors.insert(way.color);
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

// The way of one flow over the links that stand for their classes, each as many times as flows of
// this class cross it.
cluster::Route Picture::representative(const cluster::Cluster& cluster, std::size_t way,
                                       const std::unordered_map<Index, Index>& times,
                                       const StandIns& others, Owners& owners) const {
  const auto stand_in = [&](Index link) {
    const cluster::Link* const here = links_[link].link;
    const auto found = others.find(here);
    if (found == others.end()) return here;
    const Color owner =
        owners.try_emplace({kinds_[ways_[way].group], found->second}, ways_[way].color)
            .first->second;
    return owner == ways_[way].color ? found->second : here;
  };
  const Flow& flow = *ways_[way].flow;
  cluster::Route own = places_.route(flow.source, flow.destination);
  const auto once = [&](Index link) {
    const auto found = times.find(link);
    return found != times.end() && found->second == 1 && stand_in(link) == links_[link].link;
  };
  if (times.size() == links_of(way).size() && std::ranges::all_of(links_of(way), once)) return own;

  std::vector<std::pair<Index, Index>> sorted(times.begin(), times.end());
  std::ranges::sort(sorted);
  std::vector<const cluster::Link*> links;
  for (const auto& [link, count] : sorted) links.insert(links.end(), count, stand_in(link));
  for (const cluster::Link* link : own.links)
    if (!is_shared(link)) links.push_back(link);
  return cluster.add_route(links);
}

Folded Picture::fold(const cluster::Cluster& cluster, std::span<const std::vector<Phase>> plans,
                     const StandIns& others) const {
  Folded folded;
  std::unordered_map<Color, Index> link_of_class;
  for (Index link = 0; link < links_.size(); ++link) {
    const Index first = link_of_class.emplace(links_[link].color, link).first->second;
    folded.stand_in.emplace(links_[link].link, links_[first].link);
  }

  // Of each class of flows: how many of them cross the links that stand for classes.
  std::unordered_map<Color, std::unordered_map<Index, Index>> times;
  for (std::size_t i = 0; i < ways_.size(); ++i)
    for (const Index link : links_of(i))
      if (link_of_class.at(links_[link].color) == link) ++times[ways_[i].color][link];

  Owners owners;
  std::unordered_map<Color, Index> course_of_class;
  std::size_t way = 0;
  for (Index group = 0; group < groups_.size(); ++group) {
    const auto [place, is_new] =
        course_of_class.emplace(groups_[group], static_cast<Index>(folded.courses.size()));
    folded.course_of.push_back(place->second);
    Course course{.host = places_.host(0)};
    for (const Phase& phase : plans[group]) course.steps.push_back({.latency = phase.latency});
    std::unordered_set<Color> known;
    for (; way < ways_.size() && ways_[way].group == group; ++way) {
      if (!is_new || !known.insert(ways_[way].color).second) continue;
      const cluster::Route route =
          representative(cluster, way, times[ways_[way].color], others, owners);
      course.steps[ways_[way].step].transfers.push_back(
          {route.source, route.destination, ways_[way].bytes});
    }
    if (is_new) folded.courses.push_back(std::make_shared<const Course>(std::move(course)));
  }
  return folded;
}

}  // namespace

Folded fold(const cluster::Cluster& cluster, const Places& places,
            std::span<const std::vector<Phase>> plans, std::span<const std::uint64_t> kinds) {
  return Picture(places, plans, kinds).fold(cluster, plans, {});
}

Folded fold_beside(const Folded& others, const cluster::Cluster& cluster, const Places& places,
                   std::span<const std::vector<Phase>> plans,
                   std::span<const std::uint64_t> kinds) {
  return Picture(places, plans, kinds).fold(cluster, plans, others.stand_in);
}

}  // namespace pipewright::execution
