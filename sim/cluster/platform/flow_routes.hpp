#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/platform/platform.hpp"
#include "sim/cluster/platform/platform_routes.hpp"
#include "sim/config/communication.hpp"

namespace pipewright::cluster {

// Vertices at which the flows of a host begin and end.
struct Endpoint {
  std::vector<Index> self;  // vertex of the host
  Index node = nothing;     // node of a GPU
  Index local_index = 0;    // index of a GPU within its node
  std::vector<Index> nics;  // vertices of the ports to other nodes

  const std::vector<Index>& ports(bool across) const {
    return across && !nics.empty() ? nics : self;
  }
};

// Routes of flows from host to host: the ports they use, how they spread over ports and over
// equally short paths, and how they avoid failed links.
class FlowRoutes {
 public:
  struct Path {
    std::vector<Index> links;        // each link once for each of the flow's parts on it
    std::vector<Index> single_path;  // links of one path, if the route is divided
  };

  // The platform must outlive this object. `ends` lists the GPUs of a node by their index within
  // the node.
  FlowRoutes(const Platform& platform, std::vector<Endpoint> ends,
             const config::Multipath& multipath, Condition condition = Condition::current);

  const std::vector<Endpoint>& ends() const { return ends_; }
  const Endpoint& end(Index number) const { return ends_[number]; }
  // Finds the path of a flow between two ends; null if there is no route. The result is valid until
  // the next call.
  const Path* find(Index from, Index to) const;
  // Says which hop of the direct route between two ends is missing: a route without a relay through
  // a peer on the destination's rail. Empty if the direct route exists.
  std::optional<MissingHop> missing_hop(Index from, Index to) const;
  // Returns whether any flow is divided among several paths.
  bool has_divided_routes() const { return has_divided_routes_; }
  // Returns whether a GPU with a different index in another node is reached through the GPU of the
  // own node that is on its rail (NCCL's PXN).
  bool has_relays() const { return has_relays_; }
  // Number of parts into which flows are divided on each link, chosen so that every flow crosses a
  // link with a whole number of parts.
  const std::vector<std::uint32_t>& parts() const { return parts_; }

  void set_multipath(const config::Multipath& multipath);
  // Drops all cached routes. Call it after links have failed or recovered.
  void invalidate();

 private:
  using Ports = std::vector<std::pair<Index, Index>>;
  using Leg = std::pair<const Endpoint*, const Endpoint*>;

  static Ports ports(const Endpoint& from, const Endpoint& to);
  bool all_links_work(const std::vector<Share>& shares) const;
  std::vector<Share> links_of(const std::pair<Index, Index>& ports,
                              const PlatformRoutes& routes) const;
  std::vector<double> port_weights(const Ports& pairs) const;
  std::vector<Share> flow_shares(const Ports& pairs, const PlatformRoutes& routes) const;
  Ports connected_ports(const Endpoint& from, const Endpoint& to) const;
  bool append_first(const Endpoint& from, const Endpoint& to, std::vector<Index>& links) const;
  const Endpoint* peer_on_rail(const Endpoint& a, const Endpoint& b) const;
  std::vector<Leg> legs(const Endpoint& from, const Endpoint& to) const;
  bool needs_relays() const;
  void count_parts();
  std::vector<std::pair<Index, Index>> sample_pairs() const;

  const Platform& platform_;
  config::Multipath multipath_;
  Condition condition_;
  PlatformRoutes routes_;
  PlatformRoutes routes_as_built_;
  std::vector<Endpoint> ends_;
  std::vector<std::vector<Index>> nodes_;  // ends of a node's GPUs, by index within the node
  std::vector<std::uint32_t> parts_;
  bool has_divided_routes_ = false;
  bool has_relays_ = false;
  // Cache by pair of ends, if routes are divided or use relays.
  mutable std::unordered_map<std::uint64_t, Path> paths_;
  mutable Path last_path_;  // result of the last call otherwise
};

}  // namespace pipewright::cluster
