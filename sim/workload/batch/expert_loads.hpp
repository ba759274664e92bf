#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/config/expert_training.hpp"
#include "sim/config/model.hpp"

namespace pipewright::workload {

// Law of the loads of experts in a layer and microbatch. No expert gets a token twice.
//
// With alpha, the tokens of each expert are drawn from a density proportional to x^-alpha between
// one and 0.8 of all tokens, and scaled to the total, like power_law_logits of AIConfigurator
// (ai-dynamo/aiconfigurator).
//
// Without alpha, the law is that of a trained router with a balance loss: shares are log-normal
// with a Gini coefficient of 0.2. In five trained models on text, DeepSeek-MoE, Nemotron-3,
// Qwen3-30B, DeepSeek-V2-Lite and Qwen3.5, the coefficient of a batch was 0.105, 0.150, between,
// and above 0.24 twice; the number of tokens did not matter (arXiv 2605.20982, abstract). 0.2 is
// the middle.
//
// Tokens of padding are all the same token at the end of a sample. Their hidden states are nearly
// equal, so that the router sends all of them to the same experts of a layer, which are chosen at
// random: `top_k` of all experts, with an equal share each. The other tokens follow the law.
//
// The law does not apply with model.experts.capacity_factor, which fills all buffers equally.
struct RoutingLaw {
  std::optional<double> alpha;
  std::uint32_t experts = 1;
  std::uint32_t top_k = 1;
  std::uint32_t ranks = 1;   // ranks, each with the same number of experts
  std::uint64_t tokens = 1;  // tokens of all these ranks together; without alpha, any number
  // Tokens that an expert accepts, relative to the mean. Further tokens are dropped.
  std::optional<double> capacity = {};
  double padding = 0;  // share of the tokens that are padding

  bool operator==(const RoutingLaw&) const = default;

  // Returns the ratio of the tokens of the busiest rank to the mean over the ranks before tokens
  // are dropped, for a random draw that is determined by `bits`. The ratio is at least 1.
  double busiest(std::uint64_t bits) const;
};

// Statistics of the ratio RoutingLaw::busiest over many draws: the mean determines times, the 95th
// percentile memory.
struct Imbalance {
  double mean = 1;
  double p95 = 1;
};
Imbalance imbalance_of(const RoutingLaw& law);

// Values of RoutingLaw::busiest, with an independent draw for each layer and microbatch: one of
// the ratios whose mean is Imbalance::mean, so that a draw takes the same time for any number of
// experts.
struct ExpertLoads {
  std::shared_ptr<const std::vector<double>> ratios;
  std::uint64_t seed = 0;

  double at(std::uint32_t layer, std::uint32_t microbatch) const;
};
ExpertLoads expert_loads(const RoutingLaw& law, std::uint32_t seed);

}  // namespace pipewright::workload
