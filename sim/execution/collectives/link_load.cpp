#include "sim/execution/collectives/link_load.hpp"

#include <algorithm>

namespace pipewright::execution {

void LinkLoads::add(const cluster::Route& route, const ByProtocol& bytes) {
  for (const cluster::Link* link : route.links) {
    const bool shared = cluster::is_shared(link);
    ByProtocol& load = of_[link];
    for (std::size_t i = 0; i < load.size(); ++i)
      load[i] = shared ? load[i] + bytes[i] : std::max(load[i], bytes[i]);
  }
}

ByProtocol LinkLoads::busiest_seconds() const {
  ByProtocol seconds{};
  for (const auto& [link, load] : of_) {
    const double bandwidth = placement_.bandwidth_of(link);
    for (std::size_t i = 0; i < load.size(); ++i)
      seconds[i] = std::max(seconds[i], load[i] / bandwidth);
  }
  return seconds;
}

LinkLoads loads(const Phase& phase, const RankPlacement& placement) {
  LinkLoads loads(placement);
  for (const Flow& flow : phase.flows)
    loads.add(placement.route(flow.source, flow.destination), flow.bytes);
  return loads;
}

double alone(std::span<const Phase> phases, const RankPlacement& placement) {
  double seconds = 0;
  for (const Phase& phase : phases)
    seconds += loads(phase, placement).busiest_seconds().front() + phase.latency;
  return seconds;
}

}  // namespace pipewright::execution
