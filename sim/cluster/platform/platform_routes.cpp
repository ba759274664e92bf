#include "sim/cluster/platform/platform_routes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <queue>

#include "sim/base/mix.hpp"

namespace pipewright::cluster {
namespace {

using PlatformRoute = Platform::Route;
using Zone = Platform::Zone;

const PlatformRoute* find_listed_route(const Zone& zone, Index source, Index destination) {
  const auto it = zone.routes.find(Platform::key(source, destination));
  return it == zone.routes.end() ? nullptr : &it->second;
}

// Returns the vertices on the path between two vertices of a tree, including both; empty if they
// are in different trees.
std::vector<Index> tree_path(const Platform& platform, Index source, Index destination) {
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

// Returns the edges that start at a vertex, from a sorted list of edges.
auto edges_at(const std::vector<std::pair<Index, Index>>& edges, Index vertex) {
  const auto begin = std::ranges::lower_bound(edges, std::pair{vertex, Index{0}});
  return std::ranges::subrange(begin, std::find_if(begin, edges.end(), [&](const auto& edge) {
                                 return edge.first != vertex;
                               }));
}

}  // namespace

bool has_equal_paths(const Platform& platform) {
  return std::ranges::any_of(
      platform.zones, [](const Zone& zone) { return zone.routing == Platform::Routing::graph; });
}

std::size_t PlatformRoutes::Choice::pick(Index vertex, std::size_t hops) const {
  return hash == 0 ? 0 : base::mix(hash ^ base::mix(vertex)) % hops;
}

bool PlatformRoutes::append(Index source, Index destination, double part, std::uint32_t flow,
                            std::vector<Share>& shares, MissingHop& missing) const {
  const std::uint64_t pair =
      base::mix(base::mix(multipath_.seed) ^ Platform::key(source, destination));
  const bool spread = multipath_.by == config::MultipathBy::spread;
  Walk walk{.choice = {.spread = spread, .hash = base::mix(pair ^ flow) | 1U},
            .shares = shares,
            .missing = missing};
  return walk_from(source, destination, part, walk);
}

bool PlatformRoutes::append_first(Index source, Index destination, std::vector<Index>& links,
                                  MissingHop& missing) const {
  std::vector<Share> shares;
  Walk first{.choice = {.spread = false}, .shares = shares, .missing = missing};
  if (!walk_from(source, destination, 1, first)) return false;
  for (const Share& share : shares) links.push_back(share.link);
  return true;
}

bool PlatformRoutes::from_gateway(Index arrival, Index departure, double part, Walk& walk) const {
  return arrival == nothing || arrival == departure || walk_from(arrival, departure, part, walk);
}

bool PlatformRoutes::through_tree(const Zone& zone, Index source, Index destination, double part,
                                  Walk& walk, Ends& ends) const {
  const std::vector<Index> stops = tree_path(*platform_, source, destination);
  walk.missing = {platform_->vertices[source].zone, source, destination};
  if (stops.size() < 2) return false;
  Index gateway = nothing;  // where the previous route ended
  for (std::size_t i = 0; i + 1 < stops.size(); ++i) {
    const PlatformRoute* route = find_listed_route(zone, stops[i], stops[i + 1]);
    if (route == nullptr) {
      walk.missing = {walk.missing.zone, stops[i], stops[i + 1]};
      return false;
    }
    if (i == 0) ends.sources = {{route->source_gateway, part}};
    if (!from_gateway(gateway, route->source_gateway, part, walk)) return false;
    for (const Index link : route->links) walk.shares.push_back({link, part});
    gateway = route->destination_gateway;
  }
  ends.destinations = {{gateway, part}};
  return true;
}

// Cost of a route, for comparison: the number of links counts first, then the latency in
// picoseconds (below 17 s in total).
PlatformRoutes::Cost PlatformRoutes::cost_of(const PlatformRoute& route) const {
  constexpr Cost link_cost = Cost{1} << 44U;
  Cost cost = 0;
  for (const Index index : route.links) {
    const Platform::Link& link = platform_->links[index];
    if (link.failed) return std::numeric_limits<Cost>::max();
    cost += link_cost + static_cast<Cost>(std::llround(std::min(link.latency, 1.0) * 1e12));
  }
  return cost;
}

// Computes the cost from every vertex of a zone to the destination, by Dijkstra's algorithm from
// the destination along reversed edges.
const std::vector<PlatformRoutes::Cost>& PlatformRoutes::distances_to(const Zone& zone,
                                                                      Index destination) const {
  constexpr Cost unreachable = std::numeric_limits<Cost>::max();
  const auto [entry, is_new] = distances_.try_emplace(destination);
  std::vector<Cost>& distances = entry->second;
  if (!is_new) return distances;
  distances.assign(zone.vertex_count, unreachable);
  const auto distance = [&](Index vertex) -> Cost& {
    return distances[platform_->vertices[vertex].position];
  };
  std::priority_queue<std::pair<Cost, Index>, std::vector<std::pair<Cost, Index>>, std::greater<>>
      open;
  if (platform_->vertices[destination].position == nothing) return distances;
  distance(destination) = 0;
  open.emplace(0, destination);
  while (!open.empty()) {
    const auto [cost, vertex] = open.top();
    open.pop();
    if (cost > distance(vertex)) continue;
    for (const auto& [to, from] : edges_at(zone.back_edges, vertex)) {
      const Cost hop_cost = cost_of(*find_listed_route(zone, from, to));
      if (hop_cost == unreachable || cost + hop_cost >= distance(from)) continue;
      distance(from) = cost + hop_cost;
      open.emplace(cost + hop_cost, from);
    }
  }
  return distances;
}

bool PlatformRoutes::through_graph(const Zone& zone, Index source, Index destination, double part,
                                   Walk& walk, Ends& ends) const {
  constexpr Cost unreachable = std::numeric_limits<Cost>::max();
  walk.missing = {platform_->vertices[source].zone, source, destination};
  const std::vector<Cost>& distances = distances_to(zone, destination);
  const auto distance = [&](Index vertex) {
    const Index position = platform_->vertices[vertex].position;
    return position == nothing ? unreachable : distances[position];
  };
  if (distance(source) == unreachable) return false;
  // Fractions of the flow that have reached a vertex and not left it yet, by vertex and by the
  // gateway through which they arrived. The farthest vertex is processed first, so that everything
  // that reaches a vertex has arrived before it leaves.
  using Stop = std::pair<Cost, Index>;
  std::map<Stop, std::map<Index, double>, std::greater<>> open;
  open[{distance(source), source}][nothing] = part;
  while (true) {
    const auto [stop, arrivals] = *open.begin();
    const auto [remaining, vertex] = stop;
    if (vertex == destination) {
      ends.destinations.assign(arrivals.begin(), arrivals.end());
      return true;
    }
    open.erase(open.begin());
    std::vector<std::pair<Index, const PlatformRoute*>> hops;
    for (const auto& [from, to] : edges_at(zone.edges, vertex)) {
      const PlatformRoute* const route = find_listed_route(zone, from, to);
      const Cost cost = cost_of(*route);
      if (cost != unreachable && distance(to) != unreachable && cost + distance(to) == remaining)
        hops.emplace_back(to, route);
    }
    if (!walk.choice.spread) hops = {hops[walk.choice.pick(vertex, hops.size())]};
    for (const auto& [to, route] : hops) {
      double through = 0;
      for (const auto& [gateway, arrived] : arrivals) {
        const double portion = arrived / static_cast<double>(hops.size());
        through += portion;
        if (!from_gateway(gateway, route->source_gateway, portion, walk)) return false;
      }
      if (vertex == source) ends.sources.emplace_back(route->source_gateway, through);
      for (const Index link : route->links) walk.shares.push_back({link, through});
      open[{distance(to), to}][route->destination_gateway] += through;
    }
  }
}

// Appends a route through a torus as SimGrid's TorusZone does: it crosses each dimension in the
// shorter direction, measured from the source.
void PlatformRoutes::through_torus(const Zone& zone, Index source, Index destination, double part,
                                   Walk& walk) const {
  const Index destination_corner = destination - zone.first_vertex;
  Index corner_index = source - zone.first_vertex;
  Index stride = 1;
  for (Index dimension = 0; dimension < zone.sides.size(); ++dimension) {
    const Index side = zone.sides[dimension];
    const Index begin = corner_index / stride % side;
    const Index end = destination_corner / stride % side;
    const bool up = (end > begin && end <= begin + side / 2) ||
                    (begin > side / 2 && (begin + side / 2) % side >= end);
    const bool is_opposite = side > 2 && (begin + side - end) % side * 2 == side;
    const auto cross = [&](bool upwards, double share) {
      Index corner = corner_index;
      for (Index position = begin; position != end;) {
        const Index next = upwards ? (position + 1) % side : (position + side - 1) % side;
        const Index from = corner + (upwards ? 0 : next * stride - position * stride);
        const auto link =
            static_cast<Index>(2 * (from * zone.sides.size() + dimension) + (upwards ? 0 : 1));
        walk.shares.push_back({zone.first_link + link, share});
        corner += next * stride - position * stride;
        position = next;
      }
    };
    if (!is_opposite || (!walk.choice.spread && walk.choice.hash == 0)) {
      cross(up, part);
    } else if (walk.choice.spread) {
      for (const bool upwards : {up, !up}) cross(upwards, part / 2);
    } else {
      cross(walk.choice.pick(zone.first_vertex + corner_index, 2) == 0, part);
    }
    corner_index += end * stride - begin * stride;
    stride *= side;
  }
}

// Appends the links of the route between two vertices of the same zone, and sets the gateways at
// its ends.
bool PlatformRoutes::local(const Zone& zone, Index source, Index destination, double part,
                           Walk& walk, Ends& ends) const {
  const auto push = [&](Index link) { walk.shares.push_back({link, part}); };
  switch (zone.routing) {
    case Platform::Routing::none:
      walk.missing = {platform_->vertices[source].zone, source, destination};
      return false;
    case Platform::Routing::full: {
      const PlatformRoute* route = find_listed_route(zone, source, destination);
      walk.missing = {platform_->vertices[source].zone, source, destination};
      if (route == nullptr) return false;
      ends = {{{route->source_gateway, part}}, {{route->destination_gateway, part}}};
      for (const Index link : route->links) push(link);
      return true;
    }
    case Platform::Routing::tree:
      return through_tree(zone, source, destination, part, walk, ends);
    case Platform::Routing::graph:
      return through_graph(zone, source, destination, part, walk, ends);
    case Platform::Routing::star: {
      const auto link_of = [&](Index vertex) {
        const Index host = vertex - zone.first_vertex;
        if (host >= zone.hosts) return nothing;  // the switch has no link of its own
        return zone.first_link + host * links_per_star_host(*platform_, zone);
      };
      const Index up = link_of(source);
      const Index down = link_of(destination);
      if (up != nothing) push(up);
      if (down != nothing) push(platform_->links[down].reverse);
      return true;
    }
    case Platform::Routing::torus:
      through_torus(zone, source, destination, part, walk);
      return true;
  }
  return false;
}

bool PlatformRoutes::walk_from(Index source, Index destination, double part, Walk& walk) const {
  if (source == destination) return true;
  const auto& zones = platform_->zones;
  Index from = source;
  Index to = destination;
  // Replaces `from` and `to` by the zones that contain them, until both are direct vertices of the
  // same zone.
  while (platform_->vertices[from].zone != platform_->vertices[to].zone) {
    const Zone& source_zone = zones[platform_->vertices[from].zone];
    const Zone& destination_zone = zones[platform_->vertices[to].zone];
    if (source_zone.depth >= destination_zone.depth) from = source_zone.vertex;
    if (destination_zone.depth >= source_zone.depth) to = destination_zone.vertex;
  }
  const Zone& zone = zones[platform_->vertices[from].zone];
  Ends ends;
  if (from == source && to == destination)
    return local(zone, source, destination, part, walk, ends);
  // The links to the gateways come first in the result, but only the route between the zones tells
  // which gateways it uses.
  std::vector<Share> between;
  Walk middle{.choice = walk.choice, .shares = between, .missing = walk.missing};
  if (!local(zone, from, to, part, middle, ends)) return false;
  const auto has_gateway = [](const auto& end) { return end.first != nothing; };
  if (!std::ranges::all_of(ends.sources, has_gateway) ||
      !std::ranges::all_of(ends.destinations, has_gateway)) {
    walk.missing = {platform_->vertices[from].zone, from, to};
    return false;
  }
  for (const auto& [gateway, portion] : ends.sources)
    if (!walk_from(source, gateway, portion, walk)) return false;
  walk.shares.insert(walk.shares.end(), between.begin(), between.end());
  return std::ranges::all_of(ends.destinations, [&](const auto& end) {
    return walk_from(end.first, destination, end.second, walk);
  });
}

}  // namespace pipewright::cluster
