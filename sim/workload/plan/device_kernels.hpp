#pragma once

#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/plan/modelled.hpp"

// Adds up the kernels that the model predicts for a GPU, to compare them with those of a measured
// run.
namespace pipewright::workload {

struct KernelTotal {
  double kernels = 0;
  double seconds = 0;
};

// Kernels that one GPU runs for one microbatch: F, I and W of all stages of its device, and the
// recomputation of backward passes.
struct DeviceKernels {
  KernelTotal products;  // including those of attention that is not fused
  KernelTotal attention;
  KernelTotal memory;
};

// Returns the sums for each pipeline device. Throws config::Error if the layout does not fit the
// model.
std::vector<DeviceKernels> device_kernels(const config::Scenario& scenario,
                                          const schedules::Schedule& schedule, const Gpus& gpus);

}  // namespace pipewright::workload
