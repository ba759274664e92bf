#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/comm/fair_share.hpp"
#include "sim/config/parallel.hpp"
#include "sim/workload/ranks.hpp"

// Movement of weights from the layout of training to the layout of generation.
namespace pipewright::rl {

// Bytes of the weights of a pipeline device, those of all its tp and ep ranks together.
struct DeviceWeights {
  double dense = 0;
  double experts = 0;
};

// Layout of training, and the GPUs of the engines.
struct Layouts {
  const config::Parallel& training;
  const workload::Ranks& ranks;
  std::span<const DeviceWeights> weights;  // by pipeline device
  std::uint32_t engines = 1;
  std::uint32_t tp = 1;  // GPUs of an engine
  std::uint32_t first_engine =
      0;  // number of the first GPU of the engines; ranks are numbered from 0
};

struct WeightFlow {
  std::uint32_t sender = 0;  // numbers of GPUs
  std::uint32_t receiver = 0;
  double bytes = 0;

  auto operator<=>(const WeightFlow&) const = default;
};

// Returns who sends what. Each GPU of an engine holds 1 / tp of each matrix, and gets each part of
// it from a rank that holds the part. The copies of the weights in training serve the first
// engines, one each; every other engine gets the weights from an engine before it, while they
// arrive there, as in a broadcast along a chain. What is on the GPU already does not move.
std::vector<WeightFlow> weight_flows(const Layouts& layouts);

// Returns the seconds until the last of the flows has ended, if all start together and share links
// fairly. Latencies are left out.
double transfer_seconds(comm::Paths& paths, std::span<const WeightFlow> flows);

}  // namespace pipewright::rl
