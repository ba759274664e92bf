#pragma once

#include <string>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/workload/compute/kernels.hpp"

// Numbers of a GPU file that have no source (config::Gpu::assumed) and that a predicted time
// depends on.
namespace pipewright::workload {

// Keys of the numbers that the time of a kernel depends on.
std::vector<std::string> assumed_for(const Kernel& kernel, const config::Gpu& gpu);
// Keys of the numbers that the passes of a model's parts depend on, including the host's launches,
// copies to host memory and the overhead of a pass.
std::vector<std::string> assumed_for(const ModelSetting& setting, const config::Gpu& gpu);

}  // namespace pipewright::workload
