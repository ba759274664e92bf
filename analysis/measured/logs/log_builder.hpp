#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/measured/logs/log_rows.hpp"

namespace pipewright::analysis {

// A state of a progress bar (tqdm), which counts iterations.
struct BarState {
  std::uint64_t count = 0;
  double elapsed_s = 0;  // Since the start of the bar.
  double each_s = 0;     // Time of an iteration, smoothed over the last few.
};

// Means over a whole run, which some programs print at its end.
struct RunMeans {
  std::optional<double> iteration_s;
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_gpu_s;
};

// Assembles a training log from its lines, which parsers of the various formats report to it.
class LogBuilder {
 public:
  explicit LogBuilder(std::string file) : file_(std::move(file)) {}

  // Returns the iteration with this number: the last one if it has the number, otherwise a new one,
  // which starts a new run if the number falls. A new iteration gets the time stamp of the current
  // line, and the timers and the FLOP/s stored before it.
  LogIteration& iteration(std::uint64_t number);
  // Returns the last iteration, or null before the first one.
  LogIteration* last();
  // Returns true if the iteration before the last one has this number, since another rank may
  // report late.
  bool preceded_last(std::uint64_t number) const;
  // Stores a timer until the line of its iteration is read.
  void store_timer(const std::string& name, double seconds) { stored_timers_[name] = seconds; }
  bool has_timer(const std::string& name) const { return stored_timers_.count(name) != 0; }
  double stored_timer(const std::string& name) const { return stored_timers_.at(name); }
  void store_flops(double flops_per_gpu) { stored_flops_ = flops_per_gpu; }
  // Returns a number for an iteration whose lines do not give one: that of the last iteration plus
  // 1.
  std::uint64_t next_number();
  LogMemory& memory(std::uint32_t rank);

  // Store what iteration times follow from if no line gives them: the end of a numbered step, a
  // state of a progress bar of `total` iterations, and means over the run.
  void end_step(std::uint64_t number);
  void bar(std::uint64_t total, const BarState& state) { bars_[total].push_back(state); }
  RunMeans means;

  [[noreturn]] void fail(std::string_view message) const;
  // Ends the log and returns it.
  TrainingLog take();

  std::string_view line;          // Line that is being read.
  std::uint64_t line_number = 0;  // Its number, counted from 1.

  // Kind of timer block of Megatron-LM to which the current line belongs, and the name of the timer
  // whose values, one per rank, are being read.
  enum class Block : std::uint8_t { none, min_max, max_only, per_rank };
  Block block = Block::none;
  std::string block_timer;

 private:
  LoggedTraining& run();
  bool has_iterations() const;
  void add_ended_steps();
  void add_longest_bar();
  void add_means();

  std::string file_;
  TrainingLog log_;
  std::map<std::string, double> stored_timers_;
  std::optional<double> stored_flops_;
  // Memory of each rank that was reported before the first iteration of a run.
  std::map<std::uint32_t, LogMemory> early_memory_;
  std::vector<LogIteration> ended_steps_;
  std::map<std::uint64_t, std::vector<BarState>> bars_;  // By the number of iterations.
};

// Each of these functions parses lines of one framework. Returns true if the line is of its kind.
bool take_megatron_line(std::string_view line, LogBuilder& log);
bool take_deepspeed_line(std::string_view line, LogBuilder& log);
// Adds an iteration made from timers of DeepSpeed that no iteration line followed.
void end_deepspeed_step(LogBuilder& log);
bool take_step_line(std::string_view line, LogBuilder& log);
bool take_torchtitan_line(std::string_view line, LogBuilder& log);
bool take_memory_line(std::string_view line, LogBuilder& log);
bool take_trainer_line(std::string_view line, LogBuilder& log);

// Computes figures of a run from others where no line gives them: iteration times from time stamps,
// figures of single iterations from means over the run so far, and the samples of an iteration.
void derive_figures(LoggedTraining& run);

}  // namespace pipewright::analysis
