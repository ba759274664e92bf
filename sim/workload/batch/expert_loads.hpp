#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/config/expert_training.hpp"
#include "sim/config/model.hpp"

namespace pipewright::workload {

// Power law of unbalanced routing. The tokens of each expert are drawn from a density proportional
// to x^-alpha between one and 0.8 of all tokens, and scaled to the total, like power_law_logits of
// AIConfigurator (ai-dynamo/aiconfigurator). No expert gets a token twice, and no token is dropped.
// The law does not apply with capacity_factor, which fills the buffers of all experts equally.
struct PowerLaw {
  double alpha = 0;
  std::uint32_t experts = 1;
  std::uint32_t top_k = 1;
  std::uint32_t ranks = 1;   // ranks, each with the same number of experts
  std::uint64_t tokens = 1;  // tokens of all these ranks together

  bool operator==(const PowerLaw&) const = default;

  // Returns the ratio of the tokens of the busiest rank to the mean over the ranks, for a random
  // draw that is determined by `bits`.
  double busiest(std::uint64_t bits) const;
};

// Statistics of the ratio PowerLaw::busiest over many draws: the mean determines times, the 95th
// percentile memory.
struct Imbalance {
  double mean = 1;
  double p95 = 1;
};
Imbalance imbalance_of(const PowerLaw& law);

// Values of PowerLaw::busiest, with an independent draw for each layer and microbatch.
struct ExpertLoads {
  std::uint32_t microbatches = 1;
  std::vector<double> values;  // by layer and microbatch

  double at(std::uint32_t layer, std::uint32_t microbatch) const {
    return values[std::size_t{layer} * microbatches + microbatch];
  }
};
std::shared_ptr<const ExpertLoads> expert_loads(const PowerLaw& law, std::uint32_t layers,
                                                std::uint32_t microbatches, std::uint32_t seed);

}  // namespace pipewright::workload
