#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/config/model.hpp"
#include "sim/config/training.hpp"

namespace pipewright::workload {

// Layers [first, first + count) of the model.
struct LayerRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  bool operator==(const LayerRange&) const = default;
};

// Seconds of a stage with those layers, embedding and loss included where it has them.
using StageSeconds = std::function<double(std::uint32_t stage, LayerRange layers)>;

// Deals the layers out to the stages, in order. Only the first and the last stage may have none:
// they have the embedding and the output layer. `seconds` is asked by Rule::by_cost alone. Throws
// config::Error at the partition's place, with both numbers and the nearest that would do.
std::vector<LayerRange> partition_layers(const config::Model& model,
                                         const config::Partition& partition, std::uint32_t devices,
                                         std::uint32_t stages, const StageSeconds& seconds);

}  // namespace pipewright::workload
