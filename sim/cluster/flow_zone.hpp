#pragma once

#include <functional>
#include <vector>

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>

#include "sim/cluster/simgrid.hpp"

namespace pipewright::cluster {

// A zone of SimGrid whose routes are found by us rather than by one of its tables. SimGrid asks at
// the start of every flow.
class FlowZone final : public simgrid::kernel::routing::NetZoneImpl {
 public:
  // Appends the links between two hosts, which go by the order in which they were added, from 0.
  using Finder = std::function<void(unsigned long, unsigned long, std::vector<const sg4::Link*>&)>;

  FlowZone(const std::string& name, Finder finder);
  // Beside the platform's zones, not under them: its hosts reach each other, and it never closes.
  FlowZone(const std::string& name, const NetZoneImpl& models, Finder finder);

  sg4::Host* add_host(const std::string& name, double speed, int cores,
                      const std::unordered_map<std::string, std::string>& properties);

 private:
  using NetPoint = simgrid::kernel::routing::NetPoint;
  using Route = simgrid::kernel::routing::Route;
  void get_local_route(const NetPoint* source, const NetPoint* destination, Route* into,
                       double* latency) override;

  Finder finder_;
  std::vector<const sg4::Link*> links_;
};

}  // namespace pipewright::cluster
