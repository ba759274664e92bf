#include "sim/cluster/platform/platform_routes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>

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

constexpr std::uint64_t unreachable = std::numeric_limits<std::uint64_t>::max();

}  // namespace

double rate_left(const Platform::Link& link) {
  if (link.failed) return 0;
  constexpr double steps = 100;
  constexpr double rounding = 1e-6;
  return std::max(std::floor(link.rate_left * steps + rounding), 1.0) / steps;
}

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
  const bool by_rate = multipath_.by == config::MultipathBy::adaptive;
  const bool spread = by_rate || multipath_.by == config::MultipathBy::spread;
  Collector collector{
      .choice = {.spread = spread, .by_rate = by_rate, .hash = base::mix(pair ^ flow) | 1U},
      .shares = shares,
      .missing = missing};
  return collect_from(source, destination, part, collector);
}

bool PlatformRoutes::append_first(Index source, Index destination, std::vector<Index>& links,
                                  MissingHop& missing) const {
  first_shares_.clear();
  Collector first{.choice = {.spread = false}, .shares = first_shares_, .missing = missing};
  if (!collect_from(source, destination, 1, first)) return false;
  for (const Share& share : first_shares_) links.push_back(share.link);
  return true;
}

void PlatformRoutes::update_faults() {
  distances_.clear();
  middles_.clear();
  is_faulty_.assign(platform_->zones.size(), false);
  const auto is_slow = [](const Platform::Link& link) { return rate_left(link) < 1; };
  has_faults_ = condition_ == Condition::current && std::ranges::any_of(platform_->links, is_slow);
  if (!has_faults_) return;
  for (std::size_t i = 0; i < is_faulty_.size(); ++i)
    is_faulty_[i] = std::ranges::any_of(platform_->zones[i].routes, [&](const auto& entry) {
      return std::ranges::any_of(entry.second.links,
                                 [&](Index link) { return is_slow(platform_->links[link]); });
    });
}

bool PlatformRoutes::from_gateway(Index arrival, Index departure, double part,
                                  Collector& collector) const {
  return arrival == nothing || arrival == departure ||
         collect_from(arrival, departure, part, collector);
}

bool PlatformRoutes::through_tree(const Zone& zone, Index source, Index destination, double part,
                                  Collector& collector, Ends& ends) const {
  const std::vector<Index> stops = tree_path(*platform_, source, destination);
  collector.missing = {platform_->vertices[source].zone, source, destination};
  if (stops.size() < 2) return false;
  Index gateway = nothing;  // where the previous route ended
  for (std::size_t i = 0; i + 1 < stops.size(); ++i) {
    const PlatformRoute* route = find_listed_route(zone, stops[i], stops[i + 1]);
    if (route == nullptr) {
      collector.missing = {collector.missing.zone, stops[i], stops[i + 1]};
      return false;
    }
    if (i == 0) ends.sources = {{route->source_gateway, part}};
    if (!from_gateway(gateway, route->source_gateway, part, collector)) return false;
    for (const Index link : route->links) collector.shares.push_back({link, part});
    gateway = route->destination_gateway;
  }
  ends.destinations = {{gateway, part}};
  return true;
}

// Cost of a route, for comparison: the number of links counts first, then the latency in
// picoseconds (below 17 s in total).
PlatformRoutes::Cost PlatformRoutes::cost_of(const PlatformRoute& route,
                                             Condition condition) const {
  constexpr Cost link_cost = Cost{1} << 44U;
  Cost cost = 0;
  for (const Index index : route.links) {
    const Platform::Link& link = platform_->links[index];
    if (link.failed && condition == Condition::current) return unreachable;
    cost += link_cost + static_cast<Cost>(std::llround(std::min(link.latency, 1.0) * 1e12));
  }
  return cost;
}

// Computes the cost from every vertex of a zone to the destination, by Dijkstra's algorithm from
// the destination along reversed edges.
const std::vector<PlatformRoutes::Cost>& PlatformRoutes::distances_to(const Zone& zone,
                                                                      Index destination,
                                                                      Condition condition) const {
  auto& known = condition == Condition::current && has_faults_ ? distances_ : distances_as_built_;
  const auto [entry, is_new] = known.try_emplace(destination);
  std::vector<Cost>& distances = entry->second;
  if (!is_new) return distances;
  distances.assign(zone.vertex_count, unreachable);
  const auto distance_of = [&](Index vertex) -> Cost& {
    return distances[platform_->vertices[vertex].position];
  };
  std::priority_queue<std::pair<Cost, Index>, std::vector<std::pair<Cost, Index>>, std::greater<>>
      open;
  if (platform_->vertices[destination].position == nothing) return distances;
  distance_of(destination) = 0;
  open.emplace(0, destination);
  while (!open.empty()) {
    const auto [cost, vertex] = open.top();
    open.pop();
    if (cost > distance_of(vertex)) continue;
    for (const auto& [to, from] : edges_at(zone.back_edges, vertex)) {
      const Cost hop_cost = cost_of(*find_listed_route(zone, from, to), condition);
      if (hop_cost == unreachable || cost + hop_cost >= distance_of(from)) continue;
      distance_of(from) = cost + hop_cost;
      open.emplace(cost + hop_cost, from);
    }
  }
  return distances;
}

PlatformRoutes::Cost PlatformRoutes::at(const std::vector<Cost>& distances, Index vertex) const {
  const Index position = platform_->vertices[vertex].position;
  return position == nothing ? unreachable : distances[position];
}

// Next hops of a vertex on all shortest paths to a destination, each with the same part.
// `distances` are those to the destination in this condition.
std::vector<PlatformRoutes::Hop> PlatformRoutes::shortest_hops(const Zone& zone, Index vertex,
                                                               const std::vector<Cost>& distances,
                                                               Condition condition) const {
  const Cost remaining = at(distances, vertex);
  std::vector<Hop> hops;
  for (const auto& [from, to] : edges_at(zone.edges, vertex)) {
    const Cost beyond = at(distances, to);
    if (beyond >= remaining) continue;
    const PlatformRoute* const route = find_listed_route(zone, from, to);
    const Cost cost = cost_of(*route, condition);
    if (cost != unreachable && cost + beyond == remaining)
      hops.push_back({.to = to, .route = route});
  }
  for (Hop& hop : hops) hop.part = 1 / static_cast<double>(hops.size());
  return hops;
}

// Ways that begin with a hop.
PlatformRoutes::Ways PlatformRoutes::ways_over(const Hop& hop,
                                               const std::unordered_map<Index, Ways>& ways) const {
  Ways over = ways.at(hop.to);
  for (const Index link : hop.route->links) {
    over.rate = std::min(over.rate, platform_->links[link].bandwidth);
    if (has_faults_) over.left = std::min(over.left, rate_left(platform_->links[link]));
  }
  return over;
}

// Ways over any of several hops. Each carries a part of the flow that is proportional to its rate
// as built, so a hop's loss counts by its rate.
PlatformRoutes::Ways PlatformRoutes::ways_over(const std::vector<Hop>& hops,
                                               const std::unordered_map<Index, Ways>& ways) const {
  Ways sum{.rate = 0, .left = 0};
  for (const Hop& hop : hops) {
    const Ways over = ways_over(hop, ways);
    sum.rate += over.rate;
    sum.left += over.rate * over.left;
  }
  sum.left /= sum.rate;
  return sum;
}

// Returns whether all hops have the same rate, and no link of the zone is slower, so that ways over
// all of them have the same rate.
bool PlatformRoutes::is_even(const Zone& zone, const std::vector<Hop>& hops) const {
  const double rate = rate_of(*platform_, *hops.front().route);
  return !is_faulty_[static_cast<std::size_t>(&zone - platform_->zones.data())] &&
         rate <= zone.slowest_route && std::ranges::all_of(hops, [&](const Hop& hop) {
           return rate_of(*platform_, *hop.route) == rate;
         });
}

// Divides a flow among next hops in proportion to the rates of the ways that begin with them, up to
// the vertex at which all ways meet: links behind that vertex carry the whole flow in any case.
// `as_built` are the next hops without faults; `hops` are those that are left.
void PlatformRoutes::divide_by_rate(const Zone& zone, Index destination,
                                    const std::vector<Hop>& as_built,
                                    std::vector<Hop>& hops) const {
  // The farthest vertex is expanded first, so that all ways to a vertex are known before it is.
  const std::vector<Cost>& distances = distances_to(zone, destination, Condition::as_built);
  std::set<std::pair<Cost, Index>, std::greater<>> open;
  const auto open_ends = [&](const std::vector<Hop>& next) {
    for (const Hop& hop : next) open.emplace(at(distances, hop.to), hop.to);
  };
  open_ends(as_built);
  std::vector<std::pair<Index, std::vector<Hop>>> expanded;
  while (open.size() > 1) {
    const Index vertex = open.begin()->second;
    open.erase(open.begin());
    expanded.emplace_back(vertex, shortest_hops(zone, vertex, distances, Condition::as_built));
    open_ends(expanded.back().second);
  }
  std::unordered_map<Index, Ways> ways{
      {open.begin()->second, {.rate = std::numeric_limits<double>::infinity()}}};
  std::ranges::reverse(expanded);
  for (const auto& [vertex, next] : expanded) ways.emplace(vertex, ways_over(next, ways));
  std::vector<double> rates;
  for (const Hop& hop : hops) {
    const Ways over = ways_over(hop, ways);
    rates.push_back(over.rate * over.left);
  }
  const double sum = std::reduce(rates.begin(), rates.end());
  for (std::size_t i = 0; i < hops.size() && sum > 0; ++i) hops[i].part = rates[i] / sum;
}

// Hop that a flow takes by its hash. A flow whose hop has not failed keeps it when others fail
// (resilient hashing).
PlatformRoutes::Hop PlatformRoutes::picked_hop(const Choice& choice, Index vertex,
                                               const std::vector<Hop>& as_built,
                                               const std::vector<Hop>& hops) {
  const Index preferred = as_built[choice.pick(vertex, as_built.size())].to;
  auto hop = std::ranges::find(hops, preferred, &Hop::to);
  if (hop == hops.end())
    hop = hops.begin() + static_cast<std::ptrdiff_t>(choice.pick(vertex, hops.size()));
  return {.to = hop->to, .route = hop->route};
}

// Next hops of a flow at a vertex of a graph, with the part of the flow that takes each of them.
std::vector<PlatformRoutes::Hop> PlatformRoutes::next_hops(const Zone& zone, Index vertex,
                                                           Index destination,
                                                           const std::vector<Cost>& distances,
                                                           const Choice& choice) const {
  std::vector<Hop> hops = shortest_hops(zone, vertex, distances, condition_);
  if (hops.size() < 2 || (choice.spread && (!choice.by_rate || is_even(zone, hops)))) return hops;
  std::vector<Hop> as_built = hops;
  if (has_faults_) {
    // A detour, which is longer than the paths as built, replaces them.
    const std::vector<Cost>& without = distances_to(zone, destination, Condition::as_built);
    if (at(distances, vertex) == at(without, vertex))
      as_built = shortest_hops(zone, vertex, without, Condition::as_built);
  }
  if (!choice.spread) return {picked_hop(choice, vertex, as_built, hops)};
  divide_by_rate(zone, destination, as_built, hops);
  return hops;
}

bool PlatformRoutes::through_graph(const Zone& zone, Index source, Index destination, double part,
                                   Collector& collector, Ends& ends) const {
  collector.missing = {platform_->vertices[source].zone, source, destination};
  const std::vector<Cost>& distances = distances_to(zone, destination, condition_);
  if (at(distances, source) == unreachable) return false;
  // Fractions of the flow that have reached a vertex and not left it yet, by vertex and by the
  // gateway through which they arrived. The farthest vertex is processed first, so that everything
  // that reaches a vertex has arrived before it leaves.
  using Stop = std::pair<Cost, Index>;
  std::map<Stop, std::map<Index, double>, std::greater<>> open;
  open[{at(distances, source), source}][nothing] = part;
  while (true) {
    const auto [stop, arrivals] = *open.begin();
    const Index vertex = stop.second;
    if (vertex == destination) {
      ends.destinations.assign(arrivals.begin(), arrivals.end());
      return true;
    }
    open.erase(open.begin());
    for (const Hop& hop : next_hops(zone, vertex, destination, distances, collector.choice)) {
      if (hop.part <= 0) continue;
      double through = 0;
      for (const auto& [gateway, arrived] : arrivals) {
        const double portion = arrived * hop.part;
        through += portion;
        if (!from_gateway(gateway, hop.route->source_gateway, portion, collector)) return false;
      }
      if (vertex == source) ends.sources.emplace_back(hop.route->source_gateway, through);
      for (const Index link : hop.route->links) collector.shares.push_back({link, through});
      open[{at(distances, hop.to), hop.to}][hop.route->destination_gateway] += through;
    }
  }
}

// Appends a route through a torus as SimGrid's TorusZone does: it crosses each dimension in the
// shorter direction, measured from the source.
void PlatformRoutes::through_torus(const Zone& zone, Index source, Index destination, double part,
                                   Collector& collector) const {
  const TorusGrid grid = torus_grid(zone);
  const Index destination_corner = destination - zone.first_vertex;
  Index corner = source - zone.first_vertex;
  for (std::size_t dimension = 0; dimension < grid.sides.size(); ++dimension) {
    const Index side = grid.sides[dimension];
    const Index begin = grid.position(corner, dimension);
    const Index end = grid.position(destination_corner, dimension);
    const auto cross = [&](bool up, double share) {
      for (Index position = begin; position != end; position = TorusGrid::next(position, up, side))
        collector.shares.push_back(
            {grid.link(grid.moved(corner, dimension, position), dimension, up), share});
    };
    const auto [up, is_opposite] = TorusGrid::ways(begin, end, side);
    if (!is_opposite || (!collector.choice.spread && collector.choice.hash == 0)) {
      cross(up, part);
    } else if (collector.choice.spread) {
      for (const bool upwards : {up, !up}) cross(upwards, part / 2);
    } else {
      cross(collector.choice.pick(zone.first_vertex + corner, 2) == 0, part);
    }
    corner = grid.moved(corner, dimension, end);
  }
}

// Appends the links of the route between two vertices of the same zone, and sets the gateways at
// its ends.
bool PlatformRoutes::local(const Zone& zone, Index source, Index destination, double part,
                           Collector& collector, Ends& ends) const {
  const auto push = [&](Index link) { collector.shares.push_back({link, part}); };
  switch (zone.routing) {
    case Platform::Routing::none:
      collector.missing = {platform_->vertices[source].zone, source, destination};
      return false;
    case Platform::Routing::full: {
      const PlatformRoute* route = find_listed_route(zone, source, destination);
      collector.missing = {platform_->vertices[source].zone, source, destination};
      if (route == nullptr) return false;
      ends = {{{route->source_gateway, part}}, {{route->destination_gateway, part}}};
      for (const Index link : route->links) push(link);
      return true;
    }
    case Platform::Routing::tree:
      return through_tree(zone, source, destination, part, collector, ends);
    case Platform::Routing::graph:
      return through_graph(zone, source, destination, part, collector, ends);
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
      through_torus(zone, source, destination, part, collector);
      return true;
  }
  return false;
}

// Appends a route through two zones and the known part between them.
bool PlatformRoutes::through_middle(Index source, Index destination, double part,
                                    const Middle& middle, Collector& collector) const {
  if (!collect_from(source, middle.source_gateway, part, collector)) return false;
  for (const Index link : middle.links) collector.shares.push_back({link, part});
  return collect_from(middle.destination_gateway, destination, part, collector);
}

bool PlatformRoutes::collect_from(Index source, Index destination, double part,
                                  Collector& collector) const {
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
    return local(zone, source, destination, part, collector, ends);
  // Other kinds of zones find the part between two gateways as fast as the cache would.
  const bool is_cached = collector.choice.takes_first() && zone.routing == Platform::Routing::tree;
  if (is_cached) {
    const auto middle = middles_.find(Platform::key(from, to));
    if (middle != middles_.end())
      return through_middle(source, destination, part, middle->second, collector);
  }
  // The links to the gateways come first in the result, but only the route between the zones shows
  // which gateways it uses.
  std::vector<Share> between;
  Collector middle{.choice = collector.choice, .shares = between, .missing = collector.missing};
  if (!local(zone, from, to, part, middle, ends)) return false;
  const auto has_gateway = [](const auto& end) { return end.first != nothing; };
  if (!std::ranges::all_of(ends.sources, has_gateway) ||
      !std::ranges::all_of(ends.destinations, has_gateway)) {
    collector.missing = {platform_->vertices[from].zone, from, to};
    return false;
  }
  if (is_cached) {
    Middle found{ends.sources.front().first, ends.destinations.front().first, {}};
    for (const Share& share : between) found.links.push_back(share.link);
    const auto entry = middles_.emplace(Platform::key(from, to), std::move(found)).first;
    return through_middle(source, destination, part, entry->second, collector);
  }
  for (const auto& [gateway, portion] : ends.sources)
    if (!collect_from(source, gateway, portion, collector)) return false;
  collector.shares.insert(collector.shares.end(), between.begin(), between.end());
  return std::ranges::all_of(ends.destinations, [&](const auto& end) {
    return collect_from(end.first, destination, end.second, collector);
  });
}

}  // namespace pipewright::cluster
