#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>

#include "sim/cluster/simgrid/engine.hpp"

namespace pipewright::cluster {

// SimGrid's host and link objects of a network, indexed by pipewright's host and link numbers.
struct InSimgrid {
  std::vector<sg4::Host*> hosts;
  std::vector<sg4::Link*> links;
};

// A SimGrid zone whose routes are computed by pipewright instead of SimGrid's tables. SimGrid asks
// for a route at the start of every flow, so that the zone keeps the routes of recent flows.
// SimGrid shares a link in inverse proportion to the flows' latencies, which does not hold for GPU
// fabrics, so links have no latency here; the sender waits for Route::latency instead.
class FlowZone final : public simgrid::kernel::routing::NetZoneImpl {
 public:
  // Function that appends the links between two hosts. Hosts are numbered from 0, in the order in
  // which they were added.
  using Finder = std::function<void(unsigned long, unsigned long, std::vector<const sg4::Link*>&)>;

  // Constructs the zone that becomes the root of the process's first platform.
  FlowZone(const std::string& name, Finder finder);
  // Constructs an additional zone, not nested in the existing ones. Its hosts reach only each
  // other, and it is never sealed.
  FlowZone(const std::string& name, const NetZoneImpl& models, Finder finder);

  sg4::Host* add_host(const std::string& name, double speed, int cores);
  // Call it when the finder returns other links than before.
  void forget_routes() { routes_.clear(); }

 private:
  using NetPoint = simgrid::kernel::routing::NetPoint;
  using Route = simgrid::kernel::routing::Route;
  void get_local_route(const NetPoint* source, const NetPoint* destination, Route* route,
                       double* latency) override;

  struct RecentRoute {
    decltype(Route::link_list_) links;
    double latency = 0;
  };
  RecentRoute make_route(const NetPoint* source, const NetPoint* destination);

  Finder finder_;
  std::vector<const sg4::Link*> links_;
  std::unordered_map<std::uint64_t, RecentRoute> routes_;  // by source and destination
};

// Creates a zone: the root of the first platform, or if there is a platform, an additional zone.
// SimGrid owns the zone.
FlowZone& make_zone(const std::string& name, FlowZone::Finder finder);

}  // namespace pipewright::cluster
