#include "sim/cluster/platform/platform_builder.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace pipewright::cluster {

using PlatformRoute = Platform::Route;

namespace {

// Returns true for names of the form that SimGrid gives to the links of a <cluster>, with "_link_".
// There are too many of these links to look them up by name, so SimGrid reads files that use such
// names.
bool is_star_link(const std::string& link) { return link.find("_link_") != std::string::npos; }

}  // namespace

Index PlatformBuilder::add_vertex(std::ptrdiff_t at, const std::string& name, Index zone) {
  const auto index = static_cast<Index>(platform_.vertices.size());
  const auto [entry, added] = vertex_of_.try_emplace(name, index);
  if (!added) {
    // SimGrid accepts a zone and a host with the same name, but confuses them; it has to read such
    // a file.
    if (platform_.vertices[entry->second].is_zone != nothing) throw OnlySimgrid{};
    file_.fail(
        at, fmt::format("the name '{}' is used twice; hosts, routers and zones need distinct names",
                        name));
  }
  platform_.vertices.push_back({.name = name, .zone = zone});
  return index;
}

Index PlatformBuilder::add_zone(std::ptrdiff_t at, const std::string& name,
                                Platform::Routing routing, Index parent) {
  if (const auto it = vertex_of_.find(name); it != vertex_of_.end()) {
    if (platform_.vertices[it->second].is_zone == nothing) throw OnlySimgrid{};
    file_.fail(at,
               fmt::format("the name '{}' is used by two zones; zones need distinct names", name));
  }
  const auto index = static_cast<Index>(platform_.zones.size());
  const Index vertex = add_vertex(at, name, parent);
  platform_.vertices[vertex].is_zone = index;
  platform_.zones.push_back({.name = name,
                             .routing = routing,
                             .vertex = vertex,
                             .parent = parent,
                             .depth = parent == nothing ? 0 : platform_.zones[parent].depth + 1,
                             .offset = at});
  return index;
}

// Returns the property list for a host. Consecutive hosts with equal properties share a list.
Index PlatformBuilder::properties_of(const HostSpec& spec) {
  if (platform_.properties.empty() || platform_.properties.back() != spec.properties)
    platform_.properties.push_back(spec.properties);
  return static_cast<Index>(platform_.properties.size() - 1);
}

void PlatformBuilder::add_host(std::ptrdiff_t at, const std::string& name, Index zone,
                               const HostSpec& spec) {
  const Index vertex = add_vertex(at, name, zone);
  platform_.vertices[vertex].is_host = static_cast<Index>(platform_.hosts.size());
  platform_.hosts.push_back({.vertex = vertex,
                             .speed = spec.speed,
                             .cores = spec.cores,
                             .properties = properties_of(spec),
                             .offset = at});
}

void PlatformBuilder::add_router(std::ptrdiff_t at, const std::string& name, Index zone) {
  add_vertex(at, name, zone);
}

void PlatformBuilder::push_link(std::ptrdiff_t at, const std::string& name, const LinkSpec& spec) {
  const auto first = static_cast<Index>(platform_.links.size());
  const auto push = [&](std::string full_name, Index reverse) {
    platform_.links.push_back({.name = std::move(full_name),
                               .bandwidth = spec.bandwidth,
                               .latency = spec.latency,
                               .fatpipe = spec.fatpipe,
                               .reverse = reverse,
                               .link_class = spec.link_class,
                               .offset = at});
  };
  if (!spec.duplex) return push(name, first);
  push(name + "_UP", first + 1);
  push(name + "_DOWN", first);
}

void PlatformBuilder::add_link(std::ptrdiff_t at, const std::string& name, const LinkSpec& spec) {
  if (is_star_link(name)) throw OnlySimgrid{};
  const auto first = static_cast<Index>(platform_.links.size());
  const auto declare = [&](const std::string& full_name, NamedLink link) {
    if (!link_of_.try_emplace(full_name, link).second)
      file_.fail(at, fmt::format("the name '{}' is used by two links; links need distinct names",
                                 full_name));
  };
  declare(name, {first, spec.duplex});
  if (spec.duplex) {
    declare(name + "_UP", {first, false});
    declare(name + "_DOWN", {first + 1, false});
  }
  push_link(at, name, spec);
}

Index PlatformBuilder::begin_cluster(std::ptrdiff_t at, Platform::Routing routing, Index parent,
                                     const ClusterSpec& spec) {
  const Index index = add_zone(at, spec.name, routing, parent);
  Platform::Zone& zone = platform_.zones[index];
  zone.first_link = static_cast<Index>(platform_.links.size());
  zone.first_vertex = static_cast<Index>(platform_.vertices.size());
  zone.hosts = static_cast<Index>(spec.hosts.size());
  zone.sides = spec.sides;
  for (const auto& [name, number] : spec.hosts) add_host(at, name, index, spec.host);
  return index;
}

void PlatformBuilder::add_star(std::ptrdiff_t at, Index parent, const ClusterSpec& spec) {
  const Index zone = begin_cluster(at, Platform::Routing::star, parent, spec);
  for (const auto& [name, number] : spec.hosts)
    push_link(at, fmt::format("{}_link_{}", spec.name, number), spec.link);
  add_router(at, spec.router, zone);
}

// SimGrid numbers the hosts of a torus from 0, regardless of the radical.
void PlatformBuilder::add_torus(std::ptrdiff_t at, Index parent, const ClusterSpec& spec) {
  begin_cluster(at, Platform::Routing::torus, parent, spec);
  for (Index host = 0; host < spec.hosts.size(); ++host) {
    Index stride = 1;
    for (const Index side : spec.sides) {
      const bool last = host / stride % side == side - 1;
      const Index next = last ? host - (side - 1) * stride : host + stride;
      push_link(at, fmt::format("{}_link_from_{}_to_{}", spec.name, host, next), spec.link);
      stride *= side;
    }
  }
}

Index PlatformBuilder::find_vertex(std::ptrdiff_t at, const std::string& name,
                                   std::string_view role) const {
  const auto it = vertex_of_.find(name);
  if (it == vertex_of_.end())
    file_.fail(at, Error(fmt::format("{} '{}' is not defined above this line", role, name))
                       .suggest("define hosts, routers and zones before the routes between them"));
  return it->second;
}

// Finds the vertex at which a route of the zone begins or ends.
Index PlatformBuilder::find_end(std::ptrdiff_t at, Index zone, const std::string& name,
                                bool is_zone) const {
  const Index vertex = find_vertex(at, name, is_zone ? "zoneRoute end" : "route end");
  if ((platform_.vertices[vertex].is_zone != nothing) != is_zone)
    file_.fail(
        at,
        is_zone
            ? fmt::format("'{}' is not a zone; a zoneRoute connects zones, a route connects hosts",
                          name)
            : fmt::format("'{}' is a zone; a route connects hosts, a zoneRoute connects zones",
                          name));
  if (platform_.vertices[vertex].zone != zone)
    file_.fail(at,
               fmt::format("'{}' is not in zone '{}'; a route connects direct members of its zone",
                           name, platform_.zones[zone].name));
  return vertex;
}

// Finds a gateway: a host or router at any depth inside the zone at the end of a route.
Index PlatformBuilder::find_gateway(std::ptrdiff_t at, Index end, const std::string& name) const {
  const Index gateway = find_vertex(at, name, "gateway");
  if (platform_.vertices[gateway].is_zone != nothing)
    file_.fail(at, fmt::format("gateway '{}' is a zone; a gateway is a host or a router", name));
  Index zone = platform_.vertices[gateway].zone;
  while (zone != nothing && platform_.zones[zone].vertex != end)
    zone = platform_.zones[zone].parent;
  if (zone == nothing)
    file_.fail(at,
               fmt::format("gateway '{}' is not in zone '{}'", name, platform_.vertices[end].name));
  return gateway;
}

void PlatformBuilder::insert_route(std::ptrdiff_t at, Index zone, Index source, Index destination,
                                   PlatformRoute&& route) {
  auto& routes = platform_.zones[zone].routes;
  if (!routes.try_emplace(Platform::key(source, destination), std::move(route)).second)
    file_.fail(at,
               fmt::format("two routes lead from '{}' to '{}'; a route covers both directions "
                           "unless it has symmetrical=\"NO\"",
                           platform_.vertices[source].name, platform_.vertices[destination].name));
}

void PlatformBuilder::add_route(std::ptrdiff_t at, Index zone, const RouteSpec& spec) {
  const bool joins_zones = !spec.source_gateway.empty();
  const Index source = find_end(at, zone, spec.source, joins_zones);
  const Index destination = find_end(at, zone, spec.destination, joins_zones);
  PlatformRoute there;
  if (joins_zones) {
    there.source_gateway = find_gateway(at, source, spec.source_gateway);
    there.destination_gateway = find_gateway(at, destination, spec.destination_gateway);
  }
  if (platform_.zones[zone].routing == Platform::Routing::none)
    file_.fail(at, Error(fmt::format("zone '{}' has routing None, which allows no routes",
                                     platform_.zones[zone].name))
                       .suggest("use Full"));
  if (source == destination) throw OnlySimgrid{};
  if (spec.links.empty())
    file_.fail(at, fmt::format("the route from '{}' to '{}' has no <link_ctn>", spec.source,
                               spec.destination));
  PlatformRoute back{.source_gateway = there.destination_gateway,
                     .destination_gateway = there.source_gateway,
                     .links = {}};
  for (const auto& [name, direction] : spec.links) {
    const auto it = link_of_.find(name);
    if (it == link_of_.end() && is_star_link(name)) throw OnlySimgrid{};
    if (it == link_of_.end())
      file_.fail(
          at,
          fmt::format(
              "the route from '{}' to '{}' uses link '{}', which is not defined above this line",
              spec.source, spec.destination, name));
    const auto [link, duplex] = it->second;
    if (duplex != (direction != 'N'))
      file_.fail(at, duplex ? Error(fmt::format("link '{}' is SPLITDUPLEX", name))
                                  .suggest("add direction=\"UP\" or \"DOWN\"")
                            : Error(fmt::format(
                                  "link '{}' is not SPLITDUPLEX, so it takes no direction", name)));
    there.links.push_back(link + (direction == 'D' ? 1 : 0));
    back.links.push_back(link + (direction == 'U' ? 1 : 0));
  }
  std::reverse(back.links.begin(), back.links.end());
  insert_route(at, zone, source, destination, std::move(there));
  if (spec.symmetrical) insert_route(at, zone, destination, source, std::move(back));
}

// Gives each vertex of a tree its parent. Returns false for a graph with a cycle, which has several
// paths between two vertices.
bool PlatformBuilder::root_tree(const Platform::Zone& zone) {
  auto& vertices = platform_.vertices;
  std::vector<std::pair<Index, Index>> edges = zone.edges;  // every edge in both directions
  for (const auto& [from, to] : zone.edges) edges.emplace_back(to, from);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());

  std::unordered_map<Index, bool> seen;
  for (const auto& edge : edges) {
    if (!seen.try_emplace(edge.first, true).second) continue;
    std::vector<Index> open{edge.first};
    while (!open.empty()) {
      const Index vertex = open.back();
      open.pop_back();
      const auto begin = std::lower_bound(edges.begin(), edges.end(), std::pair{vertex, Index{0}});
      for (auto next = begin; next != edges.end() && next->first == vertex; ++next) {
        if (next->second == vertices[vertex].parent) continue;
        if (!seen.try_emplace(next->second, true).second) return false;
        vertices[next->second].parent = vertex;
        vertices[next->second].depth = vertices[vertex].depth + 1;
        open.push_back(next->second);
      }
    }
  }
  return true;
}

void PlatformBuilder::prepare_paths() {
  for (Platform::Zone& zone : platform_.zones) {
    if (zone.routing != Platform::Routing::tree) continue;
    for (const auto& [key, route] : zone.routes)
      zone.edges.emplace_back(static_cast<Index>(key >> 32U), static_cast<Index>(key));
    std::sort(zone.edges.begin(), zone.edges.end());
    if (root_tree(zone)) {
      zone.edges = {};
      continue;
    }
    zone.routing = Platform::Routing::graph;
    for (const auto& [from, to] : zone.edges) zone.back_edges.emplace_back(to, from);
    std::sort(zone.back_edges.begin(), zone.back_edges.end());
    zone.slowest_route = std::numeric_limits<double>::infinity();
    for (const auto& [key, route] : zone.routes)
      zone.slowest_route = std::min(zone.slowest_route, rate_of(platform_, route));
    for (const auto& edges : {&zone.edges, &zone.back_edges})
      for (const auto& [from, to] : *edges)
        if (Index& position = platform_.vertices[from].position; position == nothing)
          position = zone.vertex_count++;
  }
}

Platform PlatformBuilder::finish() {
  prepare_paths();
  return std::move(platform_);
}

}  // namespace pipewright::cluster
