#include "sim/workload/model/allowance.hpp"

#include <cmath>

#include "sim/workload/by_stage.hpp"

namespace pipewright::workload {
namespace {

constexpr double bytes_per_launch = 20e3;

}  // namespace

bool needs_allowance(const config::Training& training) {
  return training.fragmentation > 0 || training.cuda_graphs != config::CudaGraphs::none;
}

void add_allowance(const config::Training& training, const schedules::Schedule& schedule,
                   StageCosts& costs) {
  if (!needs_allowance(training)) return;
  // Largest number of microbatches in flight on each device (`peaks`), and the bytes of activations
  // that one microbatch holds there at most (`held`).
  const std::vector<double> peaks = schedules::peak_in_flight(schedule);
  std::vector<double> held(schedule.devices);
  std::vector<double> launches(schedule.devices);
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
    for (const std::uint32_t device : devices_of(schedule.routes, stage)) {
      held[device] += static_cast<double>(costs.activations[stage].held) * schedule.slices /
                      schedule.routes.count();
      launches[device] +=
          static_cast<double>(costs.launches[stage]) * schedule.slices / schedule.routes.count();
    }
  for (std::uint32_t device = 0; device < schedule.devices; ++device) {
    double graphs = 0;
    if (training.cuda_graphs == config::CudaGraphs::layer) graphs = std::ceil(peaks[device]);
    if (training.cuda_graphs == config::CudaGraphs::iteration) graphs = schedule.microbatches;
    const double bytes = training.fragmentation * peaks[device] * held[device] +
                         graphs * launches[device] * bytes_per_launch;
    costs.state[device].allowance += static_cast<std::uint64_t>(std::llround(bytes));
  }
}

}  // namespace pipewright::workload
