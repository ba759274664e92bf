#pragma once

#include <compare>
#include <cstdint>

#include "sim/config/expert_training.hpp"
#include "sim/config/model.hpp"

namespace pipewright::workload {

// Describes how tokens choose experts: `top_k` of `experts`, drawn at random. Group-limited routing
// (DeepSeek-V3, arXiv 2412.19437, section 2.1.2) draws only from the experts of `top_groups` of
// `groups` groups.
struct Dispatch {
  std::uint32_t experts = 0;
  std::uint32_t top_k = 0;
  std::uint32_t groups = 1;
  std::uint32_t top_groups = 1;
  // Limits of the communication library: the highest rate in bytes/s at which its kernel writes
  // over links inside a node, and the latency in seconds that it adds inside a node and across
  // nodes. 0 means no limit beyond that of the links.
  double inside_rate = 0;
  double inside_latency = 0;
  double outside_latency = 0;

  auto operator<=>(const Dispatch&) const = default;
};

// Returns the settings for sending tokens to the model's experts with the library that `experts`
// selects, DeepEP or HybridEP.
Dispatch dispatch_of(const config::Model::Experts& model_experts,
                     const config::ExpertTraining& experts);

// Returns to how many of `parts` equal parts of the experts, such as ranks or nodes, a token must
// be sent on average, because they hold at least one of its experts.
double parts_visited(const Dispatch& dispatch, std::uint32_t parts);

}  // namespace pipewright::workload
