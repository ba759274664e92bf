#pragma once

#include <string>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/workload/compute/kernels.hpp"

// Finds out on which numbers without a source of their own a predicted time depends: those that the
// key `assumed` of a GPU file or of a software stack lists, and those that a GPU has from another.
namespace pipewright::workload {

// Returns the keys of the stack's host times that are assumed, such as "stack.host.kernel".
std::vector<std::string> assumed_launches(const config::Stack& stack);
// Returns the keys of the assumed or derived numbers on which the time of a kernel depends.
std::vector<std::string> assumed_for(const Kernel& kernel, const config::Gpu& gpu);
// Returns the keys of the assumed or derived numbers on which the passes of a model depend,
// including the numbers for the host's launches, copies to host memory and the overhead of a pass.
std::vector<std::string> assumed_for(const ModelSetting& setting, const config::Gpu& gpu);

// Returns the share of the time of a model's layers that kernels take whose times depend on assumed
// numbers of the GPU's file, from 0 to 1.
double assumed_share(const ModelSetting& setting, const config::Gpu& gpu);
// Return the numbers from other GPUs on which the time of a kernel or of a model's passes depends.
std::vector<config::DerivedNumber> derived_for(const Kernel& kernel, const config::Gpu& gpu);
std::vector<config::DerivedNumber> derived_for(const ModelSetting& setting, const config::Gpu& gpu);

}  // namespace pipewright::workload
