#pragma once

#include <string>
#include <vector>

#include "sim/config/post_training.hpp"
#include "sim/config/scenario.hpp"
#include "sim/rl/loop.hpp"

namespace pipewright::rl {

// Everything that a simulation of the loop needs. Separate simulations give the times of its
// phases.
struct Setting {
  config::PostTraining post;
  std::string title;    // title of the scenario
  std::string subject;  // "Qwen3 32B on 32 H100 SXM: tp 4, pp 4, dp 2"
  std::uint32_t training_gpus = 1;
  std::uint32_t rollout_gpus = 0;  // GPUs that only generate; 0: training and generation share GPUs
  std::uint32_t engines = 1;
  std::uint64_t samples = 0;  // packed samples of an optimizer step, each of training.sequence
  double update = 0;          // seconds of an optimizer step
  double forward = 0;         // seconds of forward passes over the responses of a step
  double sync = 0;            // seconds until the engines have new weights
  double sync_bytes = 0;      // bytes that move to the engines; 0 if rl.sync gives the time
  double tokens = 0;          // tokens of the prompts and responses of a step
  // Range in which the relative error of the training time is expected: -0.1 if a measurement may
  // take 10 % less than predicted. Both 0: unknown.
  double error_low = 0;
  double error_high = 0;
  Loop loop;
  std::vector<std::string> notes;
};

// Reads a scenario. Its section `rl` gives the batch of an iteration, so global_batch and
// microbatches may be missing.
config::Scenario read_loop_scenario(config::Value root);

// Returns the section `rl` of a scenario. Throws config::Error if it has none.
config::PostTraining post_training_of(const config::Scenario& scenario);

// Simulates a training iteration on the responses of a step, in a child process, and computes what
// generation and weight synchronisation cost on the same cluster. Throws config::Error if a GPU
// or a cluster is missing or too small.
Setting make_setting(const config::Scenario& scenario, const config::PostTraining& post);

}  // namespace pipewright::rl
