#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/config/expert_training.hpp"
#include "sim/config/model.hpp"

namespace pipewright::workload {

// Routing that is not balanced: how many tokens an expert gets is drawn from a density of x^-alpha
// between one and 0.8 of all tokens, and scaled so that all together get theirs, as AIConfigurator
// draws it (ai-dynamo/aiconfigurator, power_law_logits); none gets a token twice. Nobody's tokens
// are dropped, but where capacity_factor fills all experts' buffers as full.
struct PowerLaw {
  double alpha = 0;
  std::uint32_t experts = 1;
  std::uint32_t top_k = 1;
  std::uint32_t ranks = 1;   // that have as many experts each
  std::uint64_t tokens = 1;  // of all of these ranks

  bool operator==(const PowerLaw&) const = default;

  // Tokens of the busiest rank over the mean: one draw, a function of these bits.
  double busiest(std::uint64_t bits) const;
};

// Of many draws: what time follows, and what memory has to hold.
struct Imbalance {
  double mean = 1;
  double p95 = 1;
};
Imbalance imbalance_of(const PowerLaw& law);

// A draw for each layer and microbatch.
struct ExpertLoads {
  std::uint32_t microbatches = 1;
  std::vector<double> all;  // by layer and microbatch

  double of(std::uint32_t layer, std::uint32_t microbatch) const {
    return all[std::size_t{layer} * microbatches + microbatch];
  }
};
std::shared_ptr<const ExpertLoads> expert_loads(const PowerLaw& law, std::uint32_t layers,
                                                std::uint32_t microbatches, std::uint32_t seed);

}  // namespace pipewright::workload
