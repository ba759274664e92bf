#include "sim/evaluation/time_parts.hpp"

#include <algorithm>

namespace pipewright::evaluation {
namespace {

// The parts add up to the run: what a fused pair waits for twice is taken off.
analysis::TimeParts parts_of(const analysis::DeviceSummary& device, double makespan) {
  const analysis::Exposed& exposed = device.exposed;
  analysis::TimeParts parts{.in_passes = std::min(exposed.in_passes_s, device.busy_s),
                            .p2p = exposed.p2p_s,
                            .gradients = exposed.gradients_s,
                            .weights = exposed.weights_s,
                            .optimizer = device.step_s};
  parts.compute = device.busy_s - parts.in_passes;
  parts.idle =
      makespan - device.busy_s - parts.p2p - parts.gradients - parts.weights - parts.optimizer;
  if (parts.idle < 0) {
    const double twice = std::min(parts.p2p, -parts.idle);
    parts.p2p -= twice;
    parts.idle += twice;
  }
  return parts;
}

}  // namespace

analysis::TimeParts time_parts(const analysis::Summary& summary) {
  analysis::TimeParts mean;
  if (summary.devices.empty()) return mean;
  const double share =
      1 / (static_cast<double>(summary.devices.size()) * std::max(1U, summary.run.iterations));
  for (const analysis::DeviceSummary& device : summary.devices) {
    const analysis::TimeParts parts = parts_of(device, summary.makespan_s);
    mean.compute += parts.compute * share;
    mean.in_passes += parts.in_passes * share;
    mean.p2p += parts.p2p * share;
    mean.gradients += parts.gradients * share;
    mean.weights += parts.weights * share;
    mean.optimizer += parts.optimizer * share;
    mean.idle += parts.idle * share;
  }
  return mean;
}

}  // namespace pipewright::evaluation
