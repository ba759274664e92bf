#pragma once

#include <compare>
#include <cstdint>

#include "sim/config/expert_training.hpp"
#include "sim/config/model.hpp"

namespace pipewright::workload {

// Where a token's experts are: `top_k` of `experts`, drawn at random, and with group-limited
// routing (DeepSeek-V3, arXiv 2412.19437, section 2.1.2) from the experts of `top_groups` of
// `groups` alone.
struct Dispatch {
  std::uint32_t experts = 0;
  std::uint32_t top_k = 0;
  std::uint32_t groups = 1;
  std::uint32_t top_groups = 1;
  // Of the library that sends tokens: bytes/s that its kernel writes over links inside a node, at
  // the most, and seconds that it takes besides, inside a node and over several. 0: no more than
  // links take.
  double inside_rate = 0;
  double inside_latency = 0;
  double outside_latency = 0;

  auto operator<=>(const Dispatch&) const = default;
};

// By DeepEP or HybridEP.
Dispatch dispatch_of(const config::Model::Experts& of, const config::ExpertTraining& experts);

// In how many of so many equal parts of the experts, as of ranks or nodes, a token has some: the
// mean.
double parts_visited(const Dispatch& dispatch, std::uint32_t parts);

}  // namespace pipewright::workload
