#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/measured/files/input_file.hpp"
#include "analysis/measured/logs/log_rows.hpp"

namespace pipewright::analysis {

// Puts a log together from what its lines say.
class LogBuilder {
 public:
  explicit LogBuilder(const TextSource& source) : source_(source) {}

  // The iteration of this number: the one of the line before if it says so too, else a new one,
  // of a new run where the number falls. It has the timers that stood before it.
  LogIteration& iteration(std::uint64_t number);
  // The last iteration; null before the first one.
  LogIteration* last();
  // Whether the iteration before the last one has this number: another rank may be late to say so.
  bool just_had(std::uint64_t number) const;
  // A timer of the iteration whose line follows.
  void keep(const std::string& name, double seconds) { kept_[name] = seconds; }
  bool has_kept(const std::string& name) const { return kept_.count(name) != 0; }
  double kept(const std::string& name) const { return kept_.at(name); }
  // The number that an iteration has whose lines do not say it.
  std::uint64_t next_number();
  LogMemory& memory(std::uint32_t rank);

  [[noreturn]] void fail(std::string_view what, std::string_view line) const;
  // Ends the log.
  TrainingLog take();

  std::uint64_t line_number = 0;  // of what is taken, from 1

  // Which of Megatron-LM's blocks of timers the lines are in, and the timer whose ranks follow.
  enum class Block : std::uint8_t { none, of_range, of_most, of_ranks };
  Block block = Block::none;
  std::string block_timer;

 private:
  LoggedTraining& run();

  const TextSource& source_;
  TrainingLog log_;
  std::map<std::string, double> kept_;
  std::map<std::uint32_t, LogMemory> early_memory_;  // before the first iteration of a run
};

// Each takes a line if it is of its kind, and says whether it was.
bool take_megatron_line(std::string_view line, LogBuilder& log);
bool take_deepspeed_line(std::string_view line, LogBuilder& log);
// Timers of DeepSpeed's that no line of an iteration followed are one by themselves.
void end_deepspeed_step(LogBuilder& log);
bool take_nemo_line(std::string_view line, LogBuilder& log);
bool take_torchtitan_line(std::string_view line, LogBuilder& log);
bool take_memory_line(std::string_view line, LogBuilder& log);

}  // namespace pipewright::analysis
