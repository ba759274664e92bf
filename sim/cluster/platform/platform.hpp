#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/platform/platform_file.hpp"

namespace pipewright::cluster {

using Index = std::uint32_t;
inline constexpr Index nothing = ~Index{0};

// A platform file as plain data, without SimGrid: its version 3.32 takes a time that grows with
// hosts x zones to load a file (20 s for 16,384 GPUs in 2,048 nodes), this takes milliseconds.
// Zones hold hosts and routers, or other zones; `Vertex` is any of them. Everything refers to
// everything else by its place in these lists.
struct Platform {
  using Properties = std::vector<std::pair<std::string, std::string>>;

  struct Link {  // one direction of it
    std::string name;
    double bandwidth = 0;   // bytes/s
    double latency = 0;     // seconds
    bool fatpipe = false;   // caps each flow, and is not shared
    Index other = nothing;  // the other direction: itself if half duplex
    std::string link_class;
    bool failed = false;
    std::ptrdiff_t offset = 0;  // in the file's text
  };
  // From one vertex of a zone to another. Between zones it leads from gateway to gateway.
  struct Route {
    Index source_gateway = nothing;
    Index destination_gateway = nothing;
    std::vector<Index> links;
  };
  enum class Routing : std::uint8_t {
    none,   // no routes at all
    full,   // the routes as listed and no others
    tree,   // paths along the listed routes, which form no circle (Floyd, Dijkstra)
    graph,  // the shortest of those, where they do; of equally short ones, all
    star,   // a <cluster>: up the link of the source, down the link of the destination
    torus,  // a <cluster> too: through one dimension after the other
  };
  struct Zone {
    std::string name;
    Routing routing = Routing::none;
    Index vertex = nothing;
    Index parent = nothing;
    Index depth = 0;
    std::unordered_map<std::uint64_t, Route> routes;  // by key(source, destination)
    std::vector<std::pair<Index, Index>> edges;       // of a graph: routes, from and to, ascending
    std::vector<std::pair<Index, Index>> back_edges;  // to and from, ascending
    Index places = 0;                                 // of a graph: its vertices
    Index first_link = nothing;                       // of a <cluster>, in the order of its hosts
    Index first_vertex = nothing;                     // its first host
    Index hosts = 0;                                  // of a <cluster>
    std::vector<Index> sides;                         // of a torus; a host has a link in each
    std::ptrdiff_t offset = 0;                        // in the file's text
  };
  struct Vertex {
    std::string name;
    Index zone = nothing;  // that holds it
    Index is_zone = nothing;
    Index is_host = nothing;
    Index parent = nothing;  // in a tree of routes
    Index depth = 0;         // in a tree of routes
    Index place = nothing;   // in a graph of them, from 0
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

// Of a <cluster> around a switch: up and down, or one that is half duplex.
inline Index links_of_a_host(const Platform& platform, const Platform::Zone& zone) {
  return platform.links[zone.first_link].other != zone.first_link ? 2 : 1;
}

// Reads the part of SimGrid's language that GPU clusters are written in: <zone> with routing Full
// or None, Floyd or Dijkstra, <cluster>, flat or a torus, <host>, <router>, <link>, <route>,
// <zoneRoute> and <prop>. None of a file with anything else in it, which only SimGrid itself can
// read. Throws Error with file and line for what SimGrid would not accept.
std::optional<Platform> read_platform(const PlatformFile& file);

}  // namespace pipewright::cluster
