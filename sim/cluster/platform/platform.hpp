#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/platform/platform_file.hpp"
#include "sim/cluster/platform/torus_grid.hpp"

namespace pipewright::cluster {

using Index = std::uint32_t;
inline constexpr Index nothing = ~Index{0};

// A platform file as plain data, independent of SimGrid. SimGrid 3.32 loads a file in time
// proportional to hosts x zones (20 s for 16,384 GPUs in 2,048 nodes); this reader takes
// milliseconds. A zone holds either hosts and routers or other zones; a `Vertex` is any of these.
// Elements refer to each other by their index in these lists.
struct Platform {
  using Properties = std::vector<std::pair<std::string, std::string>>;

  struct Link {  // one direction of a link
    std::string name;
    double bandwidth = 0;     // bytes/s
    double latency = 0;       // seconds
    bool fatpipe = false;     // limits each flow separately instead of being shared
    Index reverse = nothing;  // opposite direction; the link itself if half duplex
    std::string link_class;
    bool failed = false;
    double rate_left = 1;       // fraction of the bandwidth that a slow link has left
    std::ptrdiff_t offset = 0;  // position in the file's text
  };
  // Route between two vertices of a zone. A route between two zones leads from gateway to gateway.
  struct Route {
    Index source_gateway = nothing;
    Index destination_gateway = nothing;
    std::vector<Index> links;
  };
  enum class Routing : std::uint8_t {
    none,  // no routes
    full,  // only the listed routes
    tree,  // paths along listed routes that form no cycle (Floyd, Dijkstra)
    // shortest paths along the listed routes, where these form cycles; all paths if several are
    // equally short
    graph,
    star,   // a <cluster>: up the source's link, down the destination's link
    torus,  // a <cluster>: one dimension after the other
  };
  struct Zone {
    std::string name;
    Routing routing = Routing::none;
    Index vertex = nothing;
    Index parent = nothing;
    Index depth = 0;
    std::unordered_map<std::uint64_t, Route> routes;  // keyed by key(source, destination)
    std::vector<std::pair<Index, Index>> edges;       // routes of a graph as (from, to), ascending
    std::vector<std::pair<Index, Index>> back_edges;  // the same as (to, from), ascending
    Index vertex_count = 0;                           // number of vertices of a graph
    double slowest_route = 0;                         // bytes/s of a graph's slowest route
    Index first_link = nothing;    // first link of a <cluster>; links follow the order of hosts
    Index first_vertex = nothing;  // first host of a <cluster>
    Index hosts = 0;               // number of hosts of a <cluster>
    std::vector<Index> sides;   // size of each torus dimension; a host has one link per dimension
    std::ptrdiff_t offset = 0;  // position in the file's text
  };
  struct Vertex {
    std::string name;
    Index zone = nothing;  // zone that contains the vertex
    Index is_zone = nothing;
    Index is_host = nothing;
    Index parent = nothing;    // in a tree of routes
    Index depth = 0;           // in a tree of routes
    Index position = nothing;  // position in a graph of routes, from 0
  };
  struct Host {
    Index vertex = nothing;
    double speed = 0;  // FLOP/s
    int cores = 1;
    Index properties = nothing;
    std::ptrdiff_t offset = 0;
  };

  std::vector<Link> links;
  std::vector<Zone> zones;  // the first is the root
  std::vector<Vertex> vertices;
  std::vector<Host> hosts;
  std::vector<Properties> properties;

  static std::uint64_t key(Index source, Index destination) {
    return std::uint64_t{source} << 32U | destination;
  }
};

// Number of links per host of a <cluster> around a switch: 2 (up and down), or 1 if half duplex.
inline Index links_per_star_host(const Platform& platform, const Platform::Zone& zone) {
  return platform.links[zone.first_link].reverse != zone.first_link ? 2 : 1;
}

// The torus of a <cluster>. It refers to the zone's list of sides.
inline TorusGrid torus_grid(const Platform::Zone& zone) { return {zone.sides, zone.first_link}; }

// Bytes/s of the narrowest link of a route, as built.
inline double rate_of(const Platform& platform, const Platform::Route& route) {
  double rate = std::numeric_limits<double>::infinity();
  for (const Index link : route.links) rate = std::min(rate, platform.links[link].bandwidth);
  return rate;
}

// Reads the part of SimGrid's language that describes GPU clusters: <zone> with routing Full, None,
// Floyd or Dijkstra, <cluster> (flat or torus), <host>, <router>, <link>, <route>, <zoneRoute> and
// <prop>. Returns nothing for a file with any other element, which only SimGrid itself can read.
// Throws Error with file and line for whatever SimGrid rejects.
std::optional<Platform> read_platform(const PlatformFile& file);

}  // namespace pipewright::cluster
