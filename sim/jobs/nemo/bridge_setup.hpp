#pragma once

#include <vector>

#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/python/interpreter.hpp"

namespace pipewright::jobs::nemo {

// Applies to the entries of a configuration what Megatron-Bridge does to it before training.
void apply_bridge_setup(python::Object& config, std::vector<Named>& named);

}  // namespace pipewright::jobs::nemo
