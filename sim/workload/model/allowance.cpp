#include "sim/workload/model/allowance.hpp"

#include <cmath>
namespace pipewright::workload {
namespace {

// Returns the number of graphs of each captured kernel on a device with this number of microbatches
// in flight.
double graph_count(const config::CudaGraphs& graphs, double in_flight, std::uint32_t microbatches) {
  using Scope = config::CudaGraphs::Scope;
  if (graphs.scope == Scope::none) return 0;
  return graphs.scope == Scope::iteration ? microbatches : std::ceil(in_flight);
}

}  // namespace

bool needs_allowance(const config::Training& training) {
  return training.fragmentation > 0 ||
         training.cuda_graphs.scope != config::CudaGraphs::Scope::none;
}

void add_allowance(const config::Training& training, const schedules::Schedule& schedule,
                   StageCosts& costs) {
  if (!needs_allowance(training)) return;
  // Largest number of microbatches in flight on each device (`peaks`), and the bytes of activations
  // that one microbatch holds there at most (`held`).
  const std::vector<double> peaks = schedules::peak_in_flight(schedule);
  std::vector<double> held(schedule.devices);
  std::vector<double> captured(schedule.devices);
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
    for (std::uint32_t route = 0; route < schedule.routes.count(); ++route) {
      const std::uint32_t device = schedule.routes.device(stage, route);
      held[device] += static_cast<double>(costs.activations[stage].held) * schedule.slices /
                      schedule.routes.count();
      captured[device] +=
          static_cast<double>(costs.captured[stage]) * schedule.slices / schedule.routes.count();
    }
  for (std::uint32_t device = 0; device < schedule.devices; ++device) {
    const double graphs = graph_count(training.cuda_graphs, peaks[device], schedule.microbatches);
    const double bytes =
        training.fragmentation * peaks[device] * held[device] +
        graphs * captured[device] * static_cast<double>(training.stack.memory.graph_kernel);
    costs.state[device].allowance += static_cast<std::uint64_t>(std::llround(bytes));
  }
}

}  // namespace pipewright::workload
