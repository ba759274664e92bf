#include "sim/cluster/platform/links_at.hpp"

#include <algorithm>
#include <set>

namespace pipewright::cluster {
namespace {

using Zone = Platform::Zone;

bool is_inside(const Platform& platform, Index vertex, Index zone) {
  Index around = platform.vertices[vertex].zone;
  while (around != nothing && around != zone) around = platform.zones[around].parent;
  return around == zone;
}

// Of a <cluster> around a switch: of one host, or of all if the vertex is the switch.
void add_star(const Platform& platform, const Zone& zone, Index vertex, std::set<Index>& links) {
  const Index host = vertex - zone.first_vertex;
  const Index each = links_of_a_host(platform, zone);
  const bool is_switch = host >= zone.hosts;
  const Index first = zone.first_link + (is_switch ? 0 : host * each);
  for (Index i = 0; i < (is_switch ? zone.hosts * each : each); ++i) links.insert(first + i);
}

// Those of a zone's routes that end where `is_end` says, and of no others.
template <class IsEnd>
void add_own(const Zone& zone, const IsEnd& is_end, std::set<Index>& links) {
  std::set<Index> own;
  std::set<Index> others;
  for (const auto& [key, route] : zone.routes) {
    const bool ends = is_end(static_cast<Index>(key >> 32U), route.source_gateway) ||
                      is_end(static_cast<Index>(key), route.destination_gateway);
    (ends ? own : others).insert(route.links.begin(), route.links.end());
  }
  std::ranges::set_difference(own, others, std::inserter(links, links.end()));
}

}  // namespace

std::vector<Index> links_at(const Platform& platform, Index vertex) {
  std::set<Index> links;
  const Index whole = platform.vertices[vertex].is_zone;
  for (Index i = 0; i < platform.zones.size(); ++i) {
    const Zone& zone = platform.zones[i];
    const bool inside = whole != nothing && (i == whole || is_inside(platform, zone.vertex, whole));
    if (inside && zone.routing == Platform::Routing::star)
      add_star(platform, zone, zone.first_vertex + zone.hosts, links);
    else if (inside && zone.routing == Platform::Routing::torus)
      for (std::size_t link = 0; link < std::size_t{2} * zone.hosts * zone.sides.size(); ++link)
        links.insert(zone.first_link + static_cast<Index>(link));
    add_own(
        zone,
        [&](Index end, Index gateway) { return inside || end == vertex || gateway == vertex; },
        links);
  }
  const Zone& around = platform.zones[platform.vertices[vertex].zone];
  if (whole == nothing && around.routing == Platform::Routing::star)
    add_star(platform, around, vertex, links);
  return {links.begin(), links.end()};
}

}  // namespace pipewright::cluster
