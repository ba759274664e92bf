#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::goodput {

// Properties of one training iteration that a goodput simulation needs.
struct Iteration {
  std::string subject;  // "1f1b: llama-3-70b on h100-sxm, tp 8, pp 4".
  double seconds = 0;   // Duration of an iteration.
  // True if checkpoint intervals are at least `seconds`, because checkpoints are taken at the end
  // of an iteration. False if `seconds` is only a placeholder.
  bool limits_intervals = true;
  std::optional<double> tokens;
  std::uint32_t gpus = 1;
  std::uint32_t nodes = 1;
  std::uint32_t cluster_nodes = 0;  // 0 if there is no cluster.
  std::uint32_t racks = 0;          // Racks of several nodes that the job uses.
  std::uint32_t rack_nodes = 0;     // Nodes of such a rack; 0 if there are none.
  double state_bytes = 0;           // Weights and optimizer state of the model; 0 if unknown.
  double traffic_bytes = 0;         // Sent between stages and replicas by all GPUs.
  trace::ExpectedError expected_error = {};  // Of `seconds`.
  std::vector<std::string> notes;
};

// Returns the size of a checkpoint: weights and optimizer state, 14 bytes per parameter with bf16
// and Adam in fp32, as Megatron-LM writes it. Returns 0 if it is unknown.
double state_bytes(const config::Scenario& scenario);

// Simulates the first schedule of a scenario in a child process, so that this process does not load
// SimGrid. Throws std::runtime_error.
Iteration simulate_iteration(const config::Scenario& scenario);

}  // namespace pipewright::goodput
