#pragma once

#include <functional>
#include <string>
#include <vector>

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>

#include "sim/cluster/simgrid/engine.hpp"

namespace pipewright::cluster {

// Where SimGrid has the hosts and links of a network, by their numbers.
struct InSimgrid {
  std::vector<sg4::Host*> hosts;
  std::vector<sg4::Link*> links;
};

// A zone of SimGrid whose routes are found by us rather than by one of its tables. SimGrid asks at
// the start of every flow. It shares a link in inverse proportion to the flows' latencies, which
// GPUs' fabrics do not, so that links have none here; who transfers pays Route::latency.
class FlowZone final : public simgrid::kernel::routing::NetZoneImpl {
 public:
  // Appends the links between two hosts, which go by the order in which they were added, from 0.
  using Finder = std::function<void(unsigned long, unsigned long, std::vector<const sg4::Link*>&)>;

  // The process's first platform.
  FlowZone(const std::string& name, Finder finder);
  // Beside other zones, not under them: its hosts reach each other, and it never closes.
  FlowZone(const std::string& name, const NetZoneImpl& models, Finder finder);

  sg4::Host* add_host(const std::string& name, double speed, int cores);

 private:
  using NetPoint = simgrid::kernel::routing::NetPoint;
  using Route = simgrid::kernel::routing::Route;
  void get_local_route(const NetPoint* source, const NetPoint* destination, Route* into,
                       double* latency) override;

  Finder finder_;
  std::vector<const sg4::Link*> links_;
};

// The process's first platform, or one beside it. SimGrid owns it.
FlowZone& make_zone(const std::string& name, FlowZone::Finder finder);

}  // namespace pipewright::cluster
