#include "sim/cluster/platform/links_at.hpp"

#include <algorithm>
#include <set>

namespace pipewright::cluster {
namespace {

using Zone = Platform::Zone;

bool is_inside(const Platform& platform, Index vertex, Index zone) {
  Index enclosing = platform.vertices[vertex].zone;
  while (enclosing != nothing && enclosing != zone) enclosing = platform.zones[enclosing].parent;
  return enclosing == zone;
}

// Adds the links of one host of a <cluster> around a switch. If the vertex is the switch itself,
// adds the links of all its hosts.
void add_star(const Platform& platform, const Zone& zone, Index vertex, std::set<Index>& links) {
  const Index host = vertex - zone.first_vertex;
  const Index links_per_host = links_per_star_host(platform, zone);
  const bool is_switch = host >= zone.hosts;
  const Index first = zone.first_link + (is_switch ? 0 : host * links_per_host);
  for (Index i = 0; i < (is_switch ? zone.hosts * links_per_host : links_per_host); ++i)
    links.insert(first + i);
}

// Adds the links that are used only by routes with an end that `is_end` accepts.
template <class IsEnd>
void add_exclusive_links(const Zone& zone, const IsEnd& is_end, std::set<Index>& links) {
  std::set<Index> at_end;
  std::set<Index> elsewhere;
  for (const auto& [key, route] : zone.routes) {
    const bool ends = is_end(static_cast<Index>(key >> 32U), route.source_gateway) ||
                      is_end(static_cast<Index>(key), route.destination_gateway);
    (ends ? at_end : elsewhere).insert(route.links.begin(), route.links.end());
  }
  std::ranges::set_difference(at_end, elsewhere, std::inserter(links, links.end()));
}

}  // namespace

std::vector<Index> links_at(const Platform& platform, Index vertex) {
  std::set<Index> links;
  const Index zone_index = platform.vertices[vertex].is_zone;
  for (Index i = 0; i < platform.zones.size(); ++i) {
    const Zone& zone = platform.zones[i];
    const bool inside =
        zone_index != nothing && (i == zone_index || is_inside(platform, zone.vertex, zone_index));
    if (inside && zone.routing == Platform::Routing::star)
      add_star(platform, zone, zone.first_vertex + zone.hosts, links);
    else if (inside && zone.routing == Platform::Routing::torus)
      for (std::size_t link = 0; link < std::size_t{2} * zone.hosts * zone.sides.size(); ++link)
        links.insert(zone.first_link + static_cast<Index>(link));
    add_exclusive_links(
        zone,
        [&](Index end, Index gateway) { return inside || end == vertex || gateway == vertex; },
        links);
  }
  const Zone& enclosing = platform.zones[platform.vertices[vertex].zone];
  if (zone_index == nothing && enclosing.routing == Platform::Routing::star)
    add_star(platform, enclosing, vertex, links);
  return {links.begin(), links.end()};
}

}  // namespace pipewright::cluster
