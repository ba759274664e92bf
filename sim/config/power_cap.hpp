#pragma once

#include "sim/config/gpu.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Returns the GPU under a cap of its power in watts. Products and attention, which reach the power
// limit, run at the lower clock at which they draw as much power as the cap allows; kernels bound
// by memory keep their rate. A cap above the GPU's own power changes nothing. Throws an Error if
// the GPU's file has no power, or if the cap leaves none above idle.
Gpu with_power_cap(Gpu gpu, const Located<double>& cap);

}  // namespace pipewright::config
