#pragma once

#include <string>
#include <vector>

#include "sim/config/post_training.hpp"
#include "sim/config/scenario.hpp"
#include "sim/rl/loop.hpp"

namespace pipewright::rl {

// Everything that a simulation of the loop needs, measured in simulations of its parts.
struct Setting {
  config::PostTraining post;
  std::string subject;  // "Qwen3 32B on 32 H100 SXM: tp 4, pp 4, dp 2"
  std::uint32_t training_gpus = 1;
  std::uint32_t rollout_gpus = 0;  // 0: the training's, in turn
  std::uint32_t engines = 1;
  std::uint64_t samples = 0;  // of an optimizer step, each of the training's sequence
  double update = 0;          // seconds of an optimizer step
  double forward = 0;         // seconds of forward passes over the responses of a step
  double sync = 0;            // seconds
  double sync_bytes = 0;      // that arrive at the engines; 0 if rl.sync gives the time
  double tokens = 0;          // of a step: prompts and responses
  // Expected error of the training time: measured times are so much lower or higher, -0.1 for 10 %
  // less; 0: unknown.
  double faster = 0;
  double slower = 0;
  Loop loop;
  std::vector<std::string> notes;
};

// Reads a scenario whose batch follows from its section `rl`, and which may state none.
config::Scenario read_loop_scenario(config::Value root);

// Returns the section `rl` of a scenario. Throws config::Error if it has none.
config::PostTraining post_training_of(const config::Scenario& scenario);

// Simulates a training iteration on the responses of a step, in a child process, and computes what
// generation and weight synchronisation cost on the same cluster. Throws config::Error if a GPU
// or a cluster is missing or too small.
Setting make_setting(const config::Scenario& scenario, const config::PostTraining& post);

}  // namespace pipewright::rl
