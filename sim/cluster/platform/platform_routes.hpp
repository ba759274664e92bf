#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/cluster/platform/platform.hpp"
#include "sim/config/communication.hpp"

namespace pipewright::cluster {

// A zone without a route from one of its vertices to another.
struct Hole {
  Index zone = nothing;
  Index source = nothing;
  Index destination = nothing;
};

// A part of a flow, from above 0 to 1, goes over a link.
struct Share {
  Index link = nothing;
  double part = 1;
};

// Whether SimGrid has to choose, somewhere, between equally short ways.
bool has_several_ways(const Platform& platform);

// The ways between the vertices of a platform: local routes inside zones, and from gateway to
// gateway between them, as in SimGrid. Through a graph the ways with the fewest links are taken,
// and of these the ones with the least latency, around links that have failed; where several are
// left, every switch divides what it has among its next hops (ECMP, RFC 2992), evenly or by hash.
// Through a torus one dimension after the other; to the opposite side of a ring both ways round are
// as short.
class PlatformRoutes {
 public:
  // The platform outlives this.
  PlatformRoutes(const Platform& platform, const config::Multipath& multipath)
      : platform_(&platform), multipath_(multipath) {}

  // Appends the shares of a flow, the so-manyth of its pair by hash, in the order of the way.
  // False, and where it ends, if there is no route.
  bool append(Index source, Index destination, double part, std::uint32_t flow,
              std::vector<Share>& shares, Hole& hole) const;
  // Appends the links of one of the ways: through a torus SimGrid's.
  bool append_one(Index source, Index destination, std::vector<Index>& links, Hole& hole) const;

  // After links have failed, or work again.
  void forget() { distances_.clear(); }

 private:
  using Zone = Platform::Zone;
  using Cost = std::uint64_t;  // links and latency

  // Which of equally short hops are taken.
  struct Choice {
    bool all = true;
    std::uint64_t hash = 0;  // else; 0: the first

    std::size_t pick(Index vertex, std::size_t hops) const;
  };
  // Of a way between two zones: which parts of a flow leave the first by a gateway, and enter the
  // other.
  struct Ends {
    std::vector<std::pair<Index, double>> sources;
    std::vector<std::pair<Index, double>> destinations;
  };
  // A flow that is on its way, or a part of it.
  struct Walk {
    Choice choice;
    std::vector<Share>& shares;
    Hole& hole;
  };

  bool walk(Index source, Index destination, double part, Walk& walk) const;
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
  // By vertex of a graph, from the places of its other vertices.
  mutable std::unordered_map<Index, std::vector<Cost>> distances_;
};

}  // namespace pipewright::cluster
