#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/scenario.hpp"

namespace pipewright::goodput {

// What weeks of training need to know of one iteration.
struct Iteration {
  std::string what;    // "1f1b: llama-3-70b on h100-sxm, tp 8, pp 4"
  double seconds = 0;  // of one
  // A checkpoint comes at the end of one. Not where `seconds` only stands in for a time.
  bool limits_intervals = true;
  std::optional<double> tokens;
  std::uint32_t gpus = 1;
  std::uint32_t nodes = 1;
  std::uint32_t cluster_nodes = 0;  // 0: there is no cluster
  double state_bytes = 0;           // of weights and optimizer of the whole model; 0: unknown
  double traffic_bytes = 0;         // between stages and replicas, all GPUs together
  std::vector<std::string> notes;
};

// A checkpoint has the weights and what the optimizer keeps of each parameter: 14 bytes with bf16
// and Adam in fp32, as Megatron-LM writes it. 0: not known.
double state_bytes(const config::Scenario& scenario);

// Simulates the first schedule of a scenario in a process of its own, so that this one has no
// SimGrid. Throws std::runtime_error.
Iteration simulate_iteration(const config::Scenario& scenario);

}  // namespace pipewright::goodput
