#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/cluster/platform/condition.hpp"
#include "sim/cluster/platform/platform.hpp"
#include "sim/config/communication.hpp"

namespace pipewright::cluster {

// A route between two vertices (hosts, routers or subzones) of a zone that the platform file does
// not define.
struct MissingHop {
  Index zone = nothing;
  Index source = nothing;
  Index destination = nothing;
};

// A link on a flow's route, and the fraction of the flow, in (0, 1], that crosses the link.
struct Share {
  Index link = nothing;
  double part = 1;
};

// Fraction of a link's rate that adaptive routing counts on: 0 for a failed link. The fraction of a
// slow link is rounded down to hundredths, so that flows have few parts and do not overload it.
double rate_left(const Platform::Link& link);

// Returns whether the platform may have several equally short paths between two hosts, of which
// SimGrid would use one.
bool has_equal_paths(const Platform& platform);

// Finds routes between the vertices of a platform as SimGrid does: inside a zone, and between zones
// from gateway to gateway. In a graph, routes follow the paths with the fewest links, then the
// least latency, and avoid failed links. If several paths remain, every switch divides its traffic
// among the next hops: by their rates, evenly, or by hash (ECMP, RFC 2992). In a torus, routes
// cross one dimension after the other; to the opposite side of a ring both directions are equally
// short.
class PlatformRoutes {
 public:
  // The platform must outlive this object. `as_built`: failed and slow links are ignored.
  PlatformRoutes(const Platform& platform, const config::Multipath& multipath,
                 Condition condition = Condition::current)
      : platform_(&platform), multipath_(multipath), condition_(condition) {
    update_faults();
  }

  const config::Multipath& multipath() const { return multipath_; }
  // Returns whether the routes are affected by failed or slow links.
  bool has_faults() const { return has_faults_; }

  // Appends the links of a flow, in path order, with the fraction of the flow on each. `flow`
  // distinguishes the flows of the same pair when paths are chosen by hash. Returns false and sets
  // `missing` if there is no route.
  bool append(Index source, Index destination, double part, std::uint32_t flow,
              std::vector<Share>& shares, MissingHop& missing) const;
  // Appends the links of one path, the first of several equally short ones; in a torus, SimGrid's
  // path.
  bool append_first(Index source, Index destination, std::vector<Index>& links,
                    MissingHop& missing) const;

  // Discards cached paths. Must be called after links have failed, recovered or changed their
  // rates.
  void update_faults();

 private:
  using Zone = Platform::Zone;
  using Cost = std::uint64_t;  // links and latency combined; see cost_of

  // Decides which of several equally short next hops a flow takes: all of them, by their rates or
  // evenly, or one by a hash.
  struct Choice {
    bool spread = true;
    bool by_rate = false;    // if `spread`
    std::uint64_t hash = 0;  // picks a hop if `spread` is false; 0 picks the first

    std::size_t pick(Index vertex, std::size_t hops) const;
    bool takes_first() const { return !spread && hash == 0; }
  };
  // A next hop on a shortest path through a graph.
  struct Hop {
    Index to = nothing;
    const Platform::Route* route = nullptr;
    double part = 1;  // fraction of the flow that takes the hop
  };
  // Paths from a vertex to the vertex at which all of them meet: their rate as built, in bytes/s,
  // and the fraction of their capacity that failed and slow links leave.
  struct Ways {
    double rate = 0;
    double left = 1;
  };
  // Gateways through which a flow leaves the source zone and enters the destination zone, each with
  // the fraction of the flow that uses it.
  struct Ends {
    std::vector<std::pair<Index, double>> sources;
    std::vector<std::pair<Index, double>> destinations;
  };
  // Part of a route between the gateways of two zones. All pairs of hosts of the two zones share it
  // if they take the first of several equally short paths.
  struct Middle {
    Index source_gateway = nothing;
    Index destination_gateway = nothing;
    std::vector<Index> links;
  };
  // State of a flow, or part of a flow, while its route is collected.
  struct Collector {
    Choice choice;
    std::vector<Share>& shares;
    MissingHop& missing;
  };

  bool collect_from(Index source, Index destination, double part, Collector& collector) const;
  bool through_middle(Index source, Index destination, double part, const Middle& middle,
                      Collector& collector) const;
  bool local(const Zone& zone, Index source, Index destination, double part, Collector& collector,
             Ends& ends) const;
  bool through_tree(const Zone& zone, Index source, Index destination, double part,
                    Collector& collector, Ends& ends) const;
  bool through_graph(const Zone& zone, Index source, Index destination, double part,
                     Collector& collector, Ends& ends) const;
  void through_torus(const Zone& zone, Index source, Index destination, double part,
                     Collector& collector) const;
  bool from_gateway(Index arrival, Index departure, double part, Collector& collector) const;
  Cost cost_of(const Platform::Route& route, Condition condition) const;
  const std::vector<Cost>& distances_to(const Zone& zone, Index destination,
                                        Condition condition) const;
  Cost at(const std::vector<Cost>& distances, Index vertex) const;
  std::vector<Hop> shortest_hops(const Zone& zone, Index vertex, const std::vector<Cost>& distances,
                                 Condition condition) const;
  bool is_even(const Zone& zone, const std::vector<Hop>& hops) const;
  Ways ways_over(const Hop& hop, const std::unordered_map<Index, Ways>& ways) const;
  Ways ways_over(const std::vector<Hop>& hops, const std::unordered_map<Index, Ways>& ways) const;
  void divide_by_rate(const Zone& zone, Index destination, const std::vector<Hop>& as_built,
                      std::vector<Hop>& hops) const;
  static Hop picked_hop(const Choice& choice, Index vertex, const std::vector<Hop>& as_built,
                        const std::vector<Hop>& hops);
  std::vector<Hop> next_hops(const Zone& zone, Index vertex, Index destination,
                             const std::vector<Cost>& distances, const Choice& choice) const;

  const Platform* platform_;
  config::Multipath multipath_;
  Condition condition_;
  bool has_faults_ = false;
  std::vector<bool> is_faulty_;  // by zone: a link of its routes is slow or has failed
  // Path costs from all vertices of a graph to one vertex, keyed by that vertex; indexed by
  // position. `distances_` avoids failed links.
  mutable std::unordered_map<Index, std::vector<Cost>> distances_;
  mutable std::unordered_map<Index, std::vector<Cost>> distances_as_built_;
  mutable std::unordered_map<std::uint64_t, Middle> middles_;  // by the keys of two zones
  mutable std::vector<Share> first_shares_;  // of append_first(), to reuse its memory
};

}  // namespace pipewright::cluster
