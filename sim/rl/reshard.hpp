#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/comm/fair_share.hpp"
#include "sim/config/parallel.hpp"
#include "sim/workload/ranks.hpp"

// Movement of weights from the layout of training to the layout of generation.
namespace pipewright::rl {

// Bytes of the weights of a pipeline device, summed over its tp and ep ranks.
struct DeviceWeights {
  double dense = 0;    // all weights but routed experts
  double experts = 0;  // routed experts
};

// Layout of training, and the GPUs of the engines.
struct Layouts {
  const config::Parallel& training;
  const workload::Ranks& ranks;
  std::span<const DeviceWeights> weights;  // by pipeline device
  std::uint32_t engines = 1;
  std::uint32_t tp = 1;  // GPUs per engine
  // Number of the engines' first GPU. The GPUs of the training have the numbers of their ranks.
  std::uint32_t first_engine = 0;
};

struct WeightFlow {
  std::uint32_t sender = 0;    // number of a GPU
  std::uint32_t receiver = 0;  // number of a GPU
  double bytes = 0;

  auto operator<=>(const WeightFlow&) const = default;
};

// Returns the flows that bring the weights to all engines. Each GPU of an engine needs 1 / tp of
// each matrix, and gets it from ranks that hold parts of it. Each copy of the weights in training
// serves one of the first engines. Every other engine gets the weights from an engine before it,
// while they arrive there, as in a broadcast along a chain. Weights that are on a GPU already do
// not move.
std::vector<WeightFlow> weight_flows(const Layouts& layouts);

// Returns the seconds until the last flow ends, if all flows start together and share links fairly.
// Latencies are left out.
double transfer_seconds(comm::Paths& paths, std::span<const WeightFlow> flows);

}  // namespace pipewright::rl
