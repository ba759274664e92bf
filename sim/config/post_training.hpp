#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/lengths.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Reinforcement learning of a language model, for 'pipewright rl'. The rest of the scenario
// describes the training: model, layout, cluster and software.
struct PostTraining {
  // A measured point of an engine.
  struct Point {
    std::uint32_t batch = 0;  // number of sequences decoded together
    double tokens_per_s = 0;  // tokens/s of the whole batch
  };
  // GPUs and software that generate responses.
  struct Rollout {
    std::optional<Located<std::uint32_t>> gpus;  // empty: training and generation share GPUs
    Located<std::uint32_t> tp{1, {}};            // GPUs per engine
    // Largest number of sequences on an engine at a time (max_num_seqs of vLLM).
    std::uint32_t max_sequences = 256;
    double memory = 0.9;          // fraction of a GPU's memory for weights, keys and values
    double step_overhead = 2e-3;  // seconds per decode step without kernels and collectives
    std::vector<Point> table;     // empty: the model of rl/decode.hpp
  };
  // on_policy: responses come from the current weights. one_off: responses come from the weights of
  // the previous step, while the trainer works. async: responses come from weights that are up to
  // `lag` steps old.
  enum class Mode : std::uint8_t { on_policy, one_off, async };

  Located<std::uint32_t> prompts;     // number of prompts in a step
  std::uint32_t responses = 1;        // number of responses to each prompt
  std::uint32_t prompt_tokens = 512;  // mean length of a prompt
  Lengths lengths;                    // lengths of the responses
  Rollout rollout;
  Mode mode = Mode::on_policy;
  std::optional<Located<std::uint32_t>> lag;  // only with Mode::async
  std::uint32_t updates = 1;                  // optimizer steps in a step of the loop
  bool logprob = true;     // the trainer computes log-probabilities before it updates the weights
  bool reference = false;  // a reference model in the same layout computes log-probabilities, too
  // Seconds until the engines have new weights; empty: they move over the cluster's links.
  std::optional<double> sync;
  double overhead = 0;                          // seconds per step for rewards, data and the like
  std::optional<Located<std::uint32_t>> steps;  // number of simulated steps

  std::uint32_t simulated_steps() const { return steps ? steps->value : versions() + 10; }
  // Returns by how many steps a response may start with weights older than the trainer's.
  std::uint32_t versions() const {
    if (mode == Mode::async) return lag->value;
    return mode == Mode::one_off ? 1 : 0;
  }
};
inline constexpr std::array<std::string_view, 3> post_training_modes{"on-policy", "one-off",
                                                                     "async"};

PostTraining read_post_training(const Field& field);
std::vector<KeyRow> post_training_keys();

}  // namespace pipewright::config
