#pragma once

#include <string>
#include <vector>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/yaml.hpp"

// Takes numbers that a GPU's file does not state from the file of a measured GPU, which the key
// `like` names, and scales them to the GPU's peak, memory and power. Fractions of a peak or of a
// bandwidth and fixed times stay. Three numbers are scaled:
//   - The length at which attention reaches half of its rate: a fixed time is worth more keys on
//     processors that are faster.
//   - The clock: the power of a chip grows with the clock to the power of 2.5, since the voltage
//     follows the clock. A GPU with less power for each FLOP/s therefore keeps less of its clock.
//   - Memory that is free on an empty GPU and power at idle: the same fractions of the whole.
namespace pipewright::config {

inline constexpr Document gpu_document{"a GPU", "flops, memory, memory_bandwidth and processors",
                                       "flops: 312 TFLOP/s"};

// Returns the keys of a GPU's map with the numbers that it does not state. The result has no key
// `like`. Its key `derived` lists the added keys by the GPU whose file states them, and `assumed`
// also has those of them that are assumed there. A map without `like` stays as it is. Throws an
// Error if the GPU is unknown or derives from itself.
Value derived_gpu_tree(const Field& map);

}  // namespace pipewright::config
