#include "sim/cluster/platform/platform_routes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <queue>

#include "sim/config/mix.hpp"

namespace pipewright::cluster {
namespace {

using Route = Platform::Route;
using Zone = Platform::Zone;

const Route* listed_route(const Zone& zone, Index source, Index destination) {
  const auto found = zone.routes.find(Platform::key(source, destination));
  return found == zone.routes.end() ? nullptr : &found->second;
}

// The vertices from one to another along a tree; empty if they are in different trees.
std::vector<Index> path(const Platform& platform, Index source, Index destination) {
  const auto& vertices = platform.vertices;
  std::vector<Index> up{source};
  std::vector<Index> down{destination};
  while (up.back() != down.back()) {
    auto& side = vertices[up.back()].depth >= vertices[down.back()].depth ? up : down;
    const Index parent = vertices[side.back()].parent;
    if (parent == nothing) return {};
    side.push_back(parent);
  }
  up.insert(up.end(), down.rbegin() + 1, down.rend());
  return up;
}

// The edges that begin at a vertex.
auto edges_at(const std::vector<std::pair<Index, Index>>& edges, Index vertex) {
  const auto begin = std::ranges::lower_bound(edges, std::pair{vertex, Index{0}});
  return std::ranges::subrange(begin, std::find_if(begin, edges.end(), [&](const auto& edge) {
                                 return edge.first != vertex;
                               }));
}

}  // namespace

bool has_several_ways(const Platform& platform) {
  return std::ranges::any_of(
      platform.zones, [](const Zone& zone) { return zone.routing == Platform::Routing::graph; });
}

std::size_t PlatformRoutes::Choice::pick(Index vertex, std::size_t hops) const {
  return hash == 0 ? 0 : mix(hash ^ mix(vertex)) % hops;
}

bool PlatformRoutes::append(Index source, Index destination, double part, std::uint32_t flow,
                            std::vector<Share>& shares, Hole& hole) const {
  const std::uint64_t pair = mix(mix(multipath_.seed) ^ Platform::key(source, destination));
  const bool all = multipath_.by == config::MultipathBy::spread;
  Walk on{.choice = {.all = all, .hash = mix(pair ^ flow) | 1U}, .shares = shares, .hole = hole};
  return walk(source, destination, part, on);
}

bool PlatformRoutes::append_one(Index source, Index destination, std::vector<Index>& links,
                                Hole& hole) const {
  std::vector<Share> shares;
  Walk first{.choice = {.all = false}, .shares = shares, .hole = hole};
  if (!walk(source, destination, 1, first)) return false;
  for (const Share& share : shares) links.push_back(share.link);
  return true;
}

bool PlatformRoutes::from_gateway(Index arrival, Index departure, double part, Walk& on) const {
  return arrival == nothing || arrival == departure || walk(arrival, departure, part, on);
}

bool PlatformRoutes::through_tree(const Zone& zone, Index source, Index destination, double part,
                                  Walk& on, Ends& ends) const {
  const std::vector<Index> stops = path(*platform_, source, destination);
  on.hole = {platform_->vertices[source].zone, source, destination};
  if (stops.size() < 2) return false;
  Index gateway = nothing;  // where the way before ended
  for (std::size_t i = 0; i + 1 < stops.size(); ++i) {
    const Route* route = listed_route(zone, stops[i], stops[i + 1]);
    if (route == nullptr) {
      on.hole = {on.hole.zone, stops[i], stops[i + 1]};
      return false;
    }
    if (i == 0) ends.sources = {{route->source_gateway, part}};
    if (!from_gateway(gateway, route->source_gateway, part, on)) return false;
    for (const Index link : route->links) on.shares.push_back({link, part});
    gateway = route->destination_gateway;
  }
  ends.destinations = {{gateway, part}};
  return true;
}

// The number of links counts most; latencies in picoseconds, below 17 s in all.
PlatformRoutes::Cost PlatformRoutes::cost_of(const Route& route) const {
  constexpr Cost link_cost = Cost{1} << 44U;
  Cost cost = 0;
  for (const Index index : route.links) {
    const Platform::Link& link = platform_->links[index];
    if (link.failed) return std::numeric_limits<Cost>::max();
    cost += link_cost + static_cast<Cost>(std::llround(std::min(link.latency, 1.0) * 1e12));
  }
  return cost;
}

// Dijkstra's algorithm, backwards.
const std::vector<PlatformRoutes::Cost>& PlatformRoutes::distances_to(const Zone& zone,
                                                                      Index destination) const {
  constexpr Cost far = std::numeric_limits<Cost>::max();
  const auto [known, is_new] = distances_.try_emplace(destination);
  std::vector<Cost>& distances = known->second;
  if (!is_new) return distances;
  distances.assign(zone.places, far);
  const auto distance = [&](Index vertex) -> Cost& {
    return distances[platform_->vertices[vertex].place];
  };
  std::priority_queue<std::pair<Cost, Index>, std::vector<std::pair<Cost, Index>>, std::greater<>>
      open;
  if (platform_->vertices[destination].place == nothing) return distances;
  distance(destination) = 0;
  open.emplace(0, destination);
  while (!open.empty()) {
    const auto [cost, vertex] = open.top();
    open.pop();
    if (cost > distance(vertex)) continue;
    for (const auto& [to, from] : edges_at(zone.back_edges, vertex)) {
      const Cost more = cost_of(*listed_route(zone, from, to));
      if (more == far || cost + more >= distance(from)) continue;
      distance(from) = cost + more;
      open.emplace(cost + more, from);
    }
  }
  return distances;
}

bool PlatformRoutes::through_graph(const Zone& zone, Index source, Index destination, double part,
                                   Walk& on, Ends& ends) const {
  constexpr Cost far = std::numeric_limits<Cost>::max();
  on.hole = {platform_->vertices[source].zone, source, destination};
  const std::vector<Cost>& distances = distances_to(zone, destination);
  const auto distance = [&](Index vertex) {
    const Index place = platform_->vertices[vertex].place;
    return place == nothing ? far : distances[place];
  };
  if (distance(source) == far) return false;
  // Parts of the flow at vertices, by the gateway through which they came; the farthest go on
  // first, so that all that reaches a vertex is there when it is left.
  using Stop = std::pair<Cost, Index>;
  std::map<Stop, std::map<Index, double>, std::greater<>> open;
  open[{distance(source), source}][nothing] = part;
  while (true) {
    const auto [stop, arrivals] = *open.begin();
    const auto [left, vertex] = stop;
    if (vertex == destination) {
      ends.destinations.assign(arrivals.begin(), arrivals.end());
      return true;
    }
    open.erase(open.begin());
    std::vector<std::pair<Index, const Route*>> hops;
    for (const auto& [from, to] : edges_at(zone.edges, vertex)) {
      const Route* const route = listed_route(zone, from, to);
      const Cost cost = cost_of(*route);
      if (cost != far && distance(to) != far && cost + distance(to) == left)
        hops.emplace_back(to, route);
    }
    if (!on.choice.all) hops = {hops[on.choice.pick(vertex, hops.size())]};
    for (const auto& [to, route] : hops) {
      double through = 0;
      for (const auto& [gateway, all] : arrivals) {
        const double some = all / static_cast<double>(hops.size());
        through += some;
        if (!from_gateway(gateway, route->source_gateway, some, on)) return false;
      }
      if (vertex == source) ends.sources.emplace_back(route->source_gateway, through);
      for (const Index link : route->links) on.shares.push_back({link, through});
      open[{distance(to), to}][route->destination_gateway] += through;
    }
  }
}

// As SimGrid's TorusZone, which goes through a whole dimension the way that is shorter from where
// the route began.
void PlatformRoutes::through_torus(const Zone& zone, Index source, Index destination, double part,
                                   Walk& on) const {
  const Index to = destination - zone.first_vertex;
  Index at = source - zone.first_vertex;
  Index stride = 1;
  for (Index dimension = 0; dimension < zone.sides.size(); ++dimension) {
    const Index side = zone.sides[dimension];
    const Index begin = at / stride % side;
    const Index end = to / stride % side;
    const bool up = (end > begin && end <= begin + side / 2) ||
                    (begin > side / 2 && (begin + side / 2) % side >= end);
    const bool is_opposite = side > 2 && (begin + side - end) % side * 2 == side;
    const auto go = [&](bool upwards, double share) {
      Index corner = at;
      for (Index place = begin; place != end;) {
        const Index next = upwards ? (place + 1) % side : (place + side - 1) % side;
        const Index from = corner + (upwards ? 0 : next * stride - place * stride);
        const auto link =
            static_cast<Index>(2 * (from * zone.sides.size() + dimension) + (upwards ? 0 : 1));
        on.shares.push_back({zone.first_link + link, share});
        corner += next * stride - place * stride;
        place = next;
      }
    };
    if (!is_opposite || (!on.choice.all && on.choice.hash == 0)) {
      go(up, part);
    } else if (on.choice.all) {
      for (const bool upwards : {up, !up}) go(upwards, part / 2);
    } else {
      go(on.choice.pick(zone.first_vertex + at, 2) == 0, part);
    }
    at += end * stride - begin * stride;
    stride *= side;
  }
}

// Between two vertices of one zone.
bool PlatformRoutes::local(const Zone& zone, Index source, Index destination, double part, Walk& on,
                           Ends& ends) const {
  const auto push = [&](Index link) { on.shares.push_back({link, part}); };
  switch (zone.routing) {
    case Platform::Routing::none:
      on.hole = {platform_->vertices[source].zone, source, destination};
      return false;
    case Platform::Routing::full: {
      const Route* route = listed_route(zone, source, destination);
      on.hole = {platform_->vertices[source].zone, source, destination};
      if (route == nullptr) return false;
      ends = {{{route->source_gateway, part}}, {{route->destination_gateway, part}}};
      for (const Index link : route->links) push(link);
      return true;
    }
    case Platform::Routing::tree:
      return through_tree(zone, source, destination, part, on, ends);
    case Platform::Routing::graph:
      return through_graph(zone, source, destination, part, on, ends);
    case Platform::Routing::star: {
      const auto link_of = [&](Index vertex) {
        const Index host = vertex - zone.first_vertex;
        if (host >= zone.hosts) return nothing;  // the switch
        return zone.first_link + host * links_of_a_host(*platform_, zone);
      };
      const Index up = link_of(source);
      const Index down = link_of(destination);
      if (up != nothing) push(up);
      if (down != nothing) push(platform_->links[down].other);
      return true;
    }
    case Platform::Routing::torus:
      through_torus(zone, source, destination, part, on);
      return true;
  }
  return false;
}

bool PlatformRoutes::walk(Index source, Index destination, double part, Walk& on) const {
  if (source == destination) return true;
  const auto& zones = platform_->zones;
  Index from = source;
  Index to = destination;
  // Up to the vertices of one zone that hold both.
  while (platform_->vertices[from].zone != platform_->vertices[to].zone) {
    const Zone& source_zone = zones[platform_->vertices[from].zone];
    const Zone& destination_zone = zones[platform_->vertices[to].zone];
    if (source_zone.depth >= destination_zone.depth) from = source_zone.vertex;
    if (destination_zone.depth >= source_zone.depth) to = destination_zone.vertex;
  }
  const Zone& zone = zones[platform_->vertices[from].zone];
  Ends ends;
  if (from == source && to == destination) return local(zone, source, destination, part, on, ends);
  // What leads there comes first, but only the way between the zones says where there is.
  std::vector<Share> between;
  Walk middle{.choice = on.choice, .shares = between, .hole = on.hole};
  if (!local(zone, from, to, part, middle, ends)) return false;
  const auto has_gateway = [](const auto& end) { return end.first != nothing; };
  if (!std::ranges::all_of(ends.sources, has_gateway) ||
      !std::ranges::all_of(ends.destinations, has_gateway)) {
    on.hole = {platform_->vertices[from].zone, from, to};
    return false;
  }
  for (const auto& [gateway, some] : ends.sources)
    if (!walk(source, gateway, some, on)) return false;
  on.shares.insert(on.shares.end(), between.begin(), between.end());
  return std::ranges::all_of(ends.destinations, [&](const auto& end) {
    return walk(end.first, destination, end.second, on);
  });
}

}  // namespace pipewright::cluster
