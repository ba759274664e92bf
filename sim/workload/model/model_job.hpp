#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/config/communication.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/layer_times.hpp"
#include "sim/config/model.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/partition.hpp"
#include "sim/config/training.hpp"

namespace pipewright::workload {

// A model, its training, and the layout and GPUs that train it.
struct ModelJob {
  const config::Model& model;
  const config::Training& training;
  const config::Parallel& parallel;
  const config::Partition& partition;
  const std::vector<config::Gpu>& gpus;  // one per pipeline device
  config::Communication communication = {};
  std::optional<config::LayerTimes> measured = {};
};
// Rounds a number of bytes; a negative number becomes 0.
inline std::uint64_t round_bytes(double bytes) {
  return static_cast<std::uint64_t>(std::llround(std::max(0.0, bytes)));
}

}  // namespace pipewright::workload
