#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/cluster/platform/platform.hpp"
#include "sim/config/communication.hpp"

namespace pipewright::cluster {

// Describes a route that a platform file lacks between two vertices (hosts, routers or subzones) of
// a zone.
struct MissingHop {
  Index zone = nothing;
  Index source = nothing;
  Index destination = nothing;
};

// Fraction of a flow, in (0, 1], that crosses a link.
struct Share {
  Index link = nothing;
  double part = 1;
};

// Returns whether some route has several equally short paths, among which SimGrid has to choose.
bool has_equal_paths(const Platform& platform);

// Routes between the vertices of a platform: local routes inside zones, and gateway to gateway
// between zones, as in SimGrid. In a graph, routes follow the paths with the fewest links, then the
// least latency, and avoid failed links. If several paths remain, every switch divides its traffic
// among the next hops (ECMP, RFC 2992), evenly or by hash. In a torus, routes cross one dimension
// after the other; to the opposite side of a ring both directions are equally short.
class PlatformRoutes {
 public:
  // The platform must outlive this object.
  PlatformRoutes(const Platform& platform, const config::Multipath& multipath)
      : platform_(&platform), multipath_(multipath) {}

  // Appends the shares of a flow in path order. `flow` numbers the flows of a pair for hashing.
  // Returns false and sets `missing` if there is no route.
  bool append(Index source, Index destination, double part, std::uint32_t flow,
              std::vector<Share>& shares, MissingHop& missing) const;
  // Appends the links of the first path; in a torus, SimGrid's path.
  bool append_first(Index source, Index destination, std::vector<Index>& links,
                    MissingHop& missing) const;

  // Drops cached distances. Call it after links have failed or recovered.
  void forget() { distances_.clear(); }

 private:
  using Zone = Platform::Zone;
  using Cost = std::uint64_t;  // links and latency combined; see cost_of

  // Selects among equally short hops.
  struct Choice {
    bool spread = true;
    std::uint64_t hash = 0;  // picks a hop if `all` is false; 0 picks the first

    std::size_t pick(Index vertex, std::size_t hops) const;
  };
  // Fractions of a flow by gateway: where they leave the source zone and enter the destination zone
  // of a route between zones.
  struct Ends {
    std::vector<std::pair<Index, double>> sources;
    std::vector<std::pair<Index, double>> destinations;
  };
  // State of a flow, or part of a flow, while its route is collected.
  struct Walk {
    Choice choice;
    std::vector<Share>& shares;
    MissingHop& missing;
  };

  bool walk_from(Index source, Index destination, double part, Walk& walk) const;
  bool local(const Zone& zone, Index source, Index destination, double part, Walk& walk,
             Ends& ends) const;
  bool through_tree(const Zone& zone, Index source, Index destination, double part, Walk& walk,
                    Ends& ends) const;
  bool through_graph(const Zone& zone, Index source, Index destination, double part, Walk& walk,
                     Ends& ends) const;
  void through_torus(const Zone& zone, Index source, Index destination, double part,
                     Walk& walk) const;
  bool from_gateway(Index arrival, Index departure, double part, Walk& walk) const;
  Cost cost_of(const Platform::Route& route) const;
  const std::vector<Cost>& distances_to(const Zone& zone, Index destination) const;

  const Platform* platform_;
  config::Multipath multipath_;
  // Distances to a vertex of a graph, indexed by the position of the other vertices.
  mutable std::unordered_map<Index, std::vector<Cost>> distances_;
};

}  // namespace pipewright::cluster
