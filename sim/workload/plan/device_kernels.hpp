#pragma once

#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/plan/modelled.hpp"

// The kernels that the model says a GPU runs, in sums: what a measured run's are held against.
namespace pipewright::workload {

struct KernelTotal {
  double kernels = 0;
  double seconds = 0;
};

// Of one microbatch: F, I and W of all stages of a device, and what backward passes make again.
struct DeviceKernels {
  KernelTotal products;  // attention's too, where scores are kept
  KernelTotal attention;
  KernelTotal memory;
};

// One for each pipeline device. Throws config::Error where the layout does not fit the model.
std::vector<DeviceKernels> device_kernels(const config::Scenario& scenario,
                                          const schedules::Schedule& schedule, const Gpus& gpus);

}  // namespace pipewright::workload
