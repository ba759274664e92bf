#include <algorithm>

#include "sim/cluster/platform/platform.hpp"

namespace pipewright::cluster {
namespace {

using Route = Platform::Route;
using Zone = Platform::Zone;

const Route* listed_route(const Zone& zone, Index source, Index destination) {
  const auto found = zone.routes.find(Platform::key(source, destination));
  return found == zone.routes.end() ? nullptr : &found->second;
}

// A way that leads through several listed ones: from `source_gateway` of its first to
// `destination_gateway` of its last.
struct Ends {
  Index source_gateway = nothing;
  Index destination_gateway = nothing;
};

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

bool append_tree_way(const Platform& platform, const Zone& zone, Index source, Index destination,
                     std::vector<Index>& links, Ends& ends, Hole& hole) {
  const std::vector<Index> stops = path(platform, source, destination);
  hole = {platform.vertices[source].zone, source, destination};
  if (stops.size() < 2) return false;
  Index gateway = nothing;  // where the way before ended
  for (std::size_t i = 0; i + 1 < stops.size(); ++i) {
    const Route* route = listed_route(zone, stops[i], stops[i + 1]);
    if (route == nullptr) {
      hole = {hole.zone, stops[i], stops[i + 1]};
      return false;
    }
    if (i == 0) ends.source_gateway = route->source_gateway;
    if (gateway != nothing && gateway != route->source_gateway &&
        !append_route(platform, gateway, route->source_gateway, links, hole))
      return false;
    links.insert(links.end(), route->links.begin(), route->links.end());
    gateway = route->destination_gateway;
  }
  ends.destination_gateway = gateway;
  return true;
}

// As SimGrid's TorusZone, which goes through a whole dimension the way that is shorter from where
// the route began.
void append_torus_way(const Zone& zone, Index source, Index destination,
                      std::vector<Index>& links) {
  const Index to = destination - zone.first_vertex;
  Index at = source - zone.first_vertex;
  Index stride = 1;
  for (Index dimension = 0; dimension < zone.sides.size(); ++dimension) {
    const Index side = zone.sides[dimension];
    const Index begin = at / stride % side;
    const Index end = to / stride % side;
    const bool up = (end > begin && end <= begin + side / 2) ||
                    (begin > side / 2 && (begin + side / 2) % side >= end);
    for (Index place = begin; place != end;) {
      const Index next = up ? (place + 1) % side : (place + side - 1) % side;
      const Index from = at + (up ? 0 : next * stride - place * stride);
      const auto link =
          static_cast<Index>(2 * (from * zone.sides.size() + dimension) + (up ? 0 : 1));
      links.push_back(zone.first_link + link);
      at += next * stride - place * stride;
      place = next;
    }
    stride *= side;
  }
}

// Between two vertices of one zone.
bool append_local(const Platform& platform, const Zone& zone, Index source, Index destination,
                  std::vector<Index>& links, Ends& ends, Hole& hole) {
  switch (zone.routing) {
    case Platform::Routing::none:
      hole = {platform.vertices[source].zone, source, destination};
      return false;
    case Platform::Routing::full: {
      const Route* route = listed_route(zone, source, destination);
      hole = {platform.vertices[source].zone, source, destination};
      if (route == nullptr) return false;
      ends = {route->source_gateway, route->destination_gateway};
      links.insert(links.end(), route->links.begin(), route->links.end());
      return true;
    }
    case Platform::Routing::tree:
      return append_tree_way(platform, zone, source, destination, links, ends, hole);
    case Platform::Routing::star: {
      const auto link_of = [&](Index vertex) {
        const Index host = vertex - zone.first_vertex;
        if (host >= zone.hosts) return nothing;  // the switch
        const bool duplex = platform.links[zone.first_link].other != zone.first_link;
        return zone.first_link + host * (duplex ? 2 : 1);
      };
      const Index up = link_of(source);
      const Index down = link_of(destination);
      if (up != nothing) links.push_back(up);
      if (down != nothing) links.push_back(platform.links[down].other);
      return true;
    }
    case Platform::Routing::torus:
      append_torus_way(zone, source, destination, links);
      return true;
  }
  return false;
}

}  // namespace

bool append_route(const Platform& platform, Index source, Index destination,
                  std::vector<Index>& links, Hole& hole) {
  if (source == destination) return true;
  const auto& zones = platform.zones;
  Index from = source;
  Index to = destination;
  // Up to the vertices of one zone that hold both.
  while (platform.vertices[from].zone != platform.vertices[to].zone) {
    const Zone& source_zone = zones[platform.vertices[from].zone];
    const Zone& destination_zone = zones[platform.vertices[to].zone];
    if (source_zone.depth >= destination_zone.depth) from = source_zone.vertex;
    if (destination_zone.depth >= source_zone.depth) to = destination_zone.vertex;
  }
  const Zone& zone = zones[platform.vertices[from].zone];
  if (from == source && to == destination) {
    Ends ignored;
    return append_local(platform, zone, source, destination, links, ignored, hole);
  }
  // What leads there comes first, but only the way between the zones says where there is.
  std::vector<Index> middle;
  Ends ends;
  if (!append_local(platform, zone, from, to, middle, ends, hole)) return false;
  if (ends.source_gateway == nothing || ends.destination_gateway == nothing) {
    hole = {platform.vertices[from].zone, from, to};
    return false;
  }
  if (!append_route(platform, source, ends.source_gateway, links, hole)) return false;
  links.insert(links.end(), middle.begin(), middle.end());
  return append_route(platform, ends.destination_gateway, destination, links, hole);
}

}  // namespace pipewright::cluster
