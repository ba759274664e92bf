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

// Reinforcement learning of a language model, for 'pipewright rl'. The scenario around it describes
// the training of a step: model, layout, cluster and software.
struct PostTraining {
  // A measured point of a generation engine.
  struct Point {
    std::uint32_t batch = 0;  // sequences
    double tokens_per_s = 0;  // of the whole batch
  };
  // GPUs and software that generate responses.
  struct Rollout {
    std::optional<Located<std::uint32_t>> gpus;  // default: those of the training, in turn
    Located<std::uint32_t> tp{1, {}};            // GPUs of an engine
    // Largest number of sequences of an engine at a time (max_num_seqs of vLLM).
    std::uint32_t max_sequences = 256;
    double memory = 0.9;          // part of a GPU's memory for weights and keys and values
    double step_overhead = 2e-3;  // seconds of a decode step beside its kernels and collectives
    std::vector<Point> table;     // measured points; empty: the model of rl/decode.hpp
  };
  // on_policy: responses come from the current weights. one_off: from the weights of the step
  // before, while the trainer works. async: from weights that are up to `lag` steps old.
  enum class Mode : std::uint8_t { on_policy, one_off, async };

  Located<std::uint32_t> prompts;     // of a step
  std::uint32_t responses = 1;        // of a prompt
  std::uint32_t prompt_tokens = 512;  // mean length of a prompt
  Lengths lengths;                    // of responses
  Rollout rollout;
  Mode mode = Mode::on_policy;
  std::optional<Located<std::uint32_t>> lag;  // of async
  std::uint32_t updates = 1;                  // optimizer steps of a step
  bool logprob = true;         // the trainer computes log-probabilities of the responses again
  bool reference = false;      // and those of a reference model, by the same layout
  std::optional<double> sync;  // seconds; default: the weights move over the cluster's links
  double overhead = 0;         // seconds of a step for rewards, data and checkpoints
  std::optional<Located<std::uint32_t>> steps;  // simulated steps; default: enough

  std::uint32_t simulated_steps() const { return steps ? steps->value : versions() + 10; }
  // Number of steps that the weights of a started response may be older than the trainer's.
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
