#pragma once

#include <string>

#include "sim/config/text/yaml.hpp"

// Finds the measured GPU whose numbers stand for those that a data sheet lacks.
namespace pipewright::config {

inline constexpr Document gpu_document{"a GPU", "flops, memory, memory_bandwidth and processors",
                                       "flops: 312 TFLOP/s"};

// Returns a GPU's map with the key `like` if it has only numbers of the maker: no efficiency,
// attention, clock or overhead, and no list of assumed numbers. The key names the measured GPU of
// the library that is nearest: of the same vendor, which the name shows; with the same kinds of
// types (8 bits, 4 bits); and then with the most similar FLOP/s for each processor and memory
// bandwidth for each FLOP/s. `name` is the name of the map's file, and may be empty. Other maps
// stay as they are.
Value with_nearest_gpu(Value tree, const std::string& name);

}  // namespace pipewright::config
