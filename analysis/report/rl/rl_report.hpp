#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/text_table.hpp"

// Formats the results of `pipewright rl` as text and JSON.
namespace pipewright::analysis {

// A change of the loop, and the time of a step with it.
struct RlVariant {
  std::string name;
  double step_s = 0;
};

// A division of GPUs between training and generation.
struct RlSplit {
  std::uint32_t training_gpus = 0;
  std::uint32_t rollout_gpus = 0;
  double step_s = 0;
  double trainer_busy = 0;  // shares of the time
  double engines_busy = 0;
};

struct RlReport {
  std::string subject;  // "Qwen3 32B on 32 H100 SXM: tp 4, pp 4, dp 2"
  std::string mode;     // "on-policy"
  std::uint32_t prompts = 0;
  std::uint32_t responses = 1;  // of a prompt
  double mean_response = 0;     // tokens
  double longest_response = 0;
  double step_tokens = 0;  // of prompts and responses
  std::uint32_t training_gpus = 1;
  std::uint32_t rollout_gpus = 0;  // 0: those of the training, in turn
  std::uint32_t engines = 1;
  std::uint32_t engine_gpus = 1;

  double step_s = 0;        // in the steady state
  double generation_s = 0;  // until the last response is complete; off policy, of the engines
  double forward_s = 0;     // log-probabilities of the trainer and of the reference
  double training_s = 0;    // optimizer steps
  double sync_s = 0;
  double sync_bytes = 0;
  double overhead_s = 0;
  double trainer_busy = 0;  // shares of the time of a step
  double engines_busy = 0;
  double mean_batch = 0;                // sequences of an engine while it generates
  bool generation_is_measured = false;  // by a table of points
  double faster = 0;                    // expected error of training, relative; 0: unknown
  double slower = 0;
  std::vector<RlVariant> variants;
  std::vector<RlSplit> splits;  // by training GPUs; empty: not asked
  std::vector<std::string> notes;

  std::uint32_t gpus() const { return training_gpus + rollout_gpus; }
  double tokens_per_s() const { return step_tokens / step_s; }
};

std::string rl_text(const RlReport& report);  // for a terminal
std::string rl_json(const RlReport& report);

}  // namespace pipewright::analysis
