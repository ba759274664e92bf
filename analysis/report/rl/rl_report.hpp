#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/report/rl/rl_timeline.hpp"
#include "analysis/report/text_table.hpp"

// Formats the results of `pipewright rl` as text, JSON and a page.
namespace pipewright::analysis {

// A changed loop, such as "twice the engines", and the time of a step in it.
struct RlVariant {
  std::string name;
  double step_s = 0;
};

// A division of GPUs between training and generation.
struct RlSplit {
  std::uint32_t training_gpus = 0;
  std::uint32_t rollout_gpus = 0;
  double step_s = 0;
  double trainer_busy = 0;  // share of the time in which the trainer's GPUs train
  double engines_busy = 0;  // share of the time in which the mean engine generates
};

struct RlReport {
  std::string title;    // of the scenario
  std::string subject;  // "Qwen3 32B on 32 H100 SXM: tp 4, pp 4, dp 2"
  std::string mode;     // "on-policy"
  std::uint32_t prompts = 0;
  std::uint32_t responses = 1;  // for each prompt
  double mean_response = 0;     // tokens
  double longest_response = 0;
  double step_tokens = 0;  // tokens of the prompts and responses of a step
  std::uint32_t training_gpus = 1;
  std::uint32_t rollout_gpus = 0;  // GPUs that only generate; 0: training and generation share GPUs
  std::uint32_t engines = 1;
  std::uint32_t engine_gpus = 1;

  double step_s = 0;  // mean time of a step in the steady state
  // The time until the last response is complete (on policy), or the time for which the mean engine
  // generates (off policy).
  double generation_s = 0;
  double forward_s = 0;    // log-probabilities from the trainer and from the reference model
  double reference_s = 0;  // the part of forward_s for the reference model
  double training_s = 0;   // optimizer steps
  double sync_s = 0;
  double sync_bytes = 0;
  double overhead_s = 0;
  double trainer_busy = 0;              // as in RlSplit
  double engines_busy = 0;              // as in RlSplit
  double least_busy = 0;                // as engines_busy, of the engine with the least work
  double most_busy = 0;                 // as engines_busy, of the engine with the most work
  bool phases_overlap = false;          // off policy: engines generate while the trainer works
  double mean_batch = 0;                // mean number of sequences on an engine that generates
  bool generation_is_measured = false;  // rl.rollout.table gives measured points
  // Range in which the relative error of training_s is expected; both 0: unknown.
  double error_low = 0;
  double error_high = 0;
  std::vector<RlVariant> variants;
  std::vector<RlSplit> splits;  // ascending in training GPUs; empty without --split
  RlTimeline timeline;
  std::vector<std::string> notes;

  std::uint32_t gpus() const { return training_gpus + rollout_gpus; }
  double tokens_per_s() const { return step_tokens / step_s; }
};

// Describes what was simulated in three lines: model and layout, pools of GPUs, responses.
std::string rl_subject(const RlReport& report);
// Time of a step, throughput, and the idle time of each pool, in two lines.
std::string rl_answer(const RlReport& report);
// Range of the errors that are to be expected, and what was not measured.
std::string rl_remarks(const RlReport& report);
// Phases with their shares of a step. On policy, their times add up to the step. Off policy, those
// of each pool of GPUs do, with the time in which it is idle.
TextTable rl_phases(const RlReport& report);
TextTable rl_variants(const RlReport& report);  // time of a step with one change each
TextTable rl_splits(const RlReport& report);    // divisions of the GPUs; the report must have some

std::string rl_text(const RlReport& report);  // for a terminal
std::string rl_json(const RlReport& report);

// Writes a page with all tables, the timeline of the pools, and charts of changes and divisions.
// Throws trace::TraceError if that fails.
void write_rl_page(const std::filesystem::path& path, const RlReport& report);

}  // namespace pipewright::analysis
