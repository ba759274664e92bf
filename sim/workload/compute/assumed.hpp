#pragma once

#include <string>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/workload/compute/kernels.hpp"

// Which of the numbers of a GPU's file that no source has (config::Gpu::assumed) a time rests on.
namespace pipewright::workload {

// Keys of the file: of one kernel, and of the passes of a model's parts, with what the host, copies
// to its memory and a pass as such take.
std::vector<std::string> assumed_for(const Kernel& kernel, const config::Gpu& gpu);
std::vector<std::string> assumed_for(const ModelSetting& setting, const config::Gpu& gpu);

}  // namespace pipewright::workload
