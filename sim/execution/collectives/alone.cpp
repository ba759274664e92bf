#include "sim/execution/collectives/alone.hpp"

#include <algorithm>

#include "sim/cluster/simgrid.hpp"

namespace pipewright::execution {

std::unordered_map<const cluster::Link*, double> loads(const Phase& phase, const Places& places) {
  std::unordered_map<const cluster::Link*, double> load;
  for (const Flow& flow : phase.flows)
    for (const cluster::Link* link : places.route(flow.source, flow.destination).links) {
      double& bytes = load[link];
      bytes = link->get_sharing_policy() == cluster::sg4::Link::SharingPolicy::FATPIPE
                  ? std::max(bytes, flow.bytes)
                  : bytes + flow.bytes;
    }
  return load;
}

double alone(std::span<const Phase> phases, const Places& places) {
  double seconds = 0;
  for (const Phase& phase : phases) {
    double slowest = 0;
    for (const auto& [link, bytes] : loads(phase, places))
      slowest = std::max(slowest, bytes / cluster::Cluster::bandwidth_of(link));
    seconds += slowest + phase.latency;
  }
  return seconds;
}

}  // namespace pipewright::execution
