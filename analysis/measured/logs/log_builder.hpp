#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/measured/files/input_file.hpp"
#include "analysis/measured/logs/log_rows.hpp"

namespace pipewright::analysis {

// Assembles a training log from its lines, which parsers of the various formats report to it.
class LogBuilder {
 public:
  explicit LogBuilder(const TextSource& source) : source_(source) {}

  // Returns the iteration with this number: the last one if it has the number, otherwise a new one,
  // which starts a new run if the number falls. A new iteration gets the timers stored before it.
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
  // Returns a number for an iteration whose lines do not give one: that of the last iteration plus
  // 1.
  std::uint64_t next_number();
  LogMemory& memory(std::uint32_t rank);

  [[noreturn]] void fail(std::string_view message, std::string_view line) const;
  // Ends the log and returns it.
  TrainingLog take();

  std::uint64_t line_number = 0;  // Line that is being read, counted from 1.

  // Kind of timer block of Megatron-LM to which the current line belongs, and the name of the timer
  // whose values, one per rank, are being read.
  enum class Block : std::uint8_t { none, min_max, max_only, per_rank };
  Block block = Block::none;
  std::string block_timer;

 private:
  LoggedTraining& run();

  const TextSource& source_;
  TrainingLog log_;
  std::map<std::string, double> stored_timers_;
  // Memory of each rank that was reported before the first iteration of a run.
  std::map<std::uint32_t, LogMemory> early_memory_;
};

// Each of these functions parses lines of one framework. Returns true if the line is of its kind.
bool take_megatron_line(std::string_view line, LogBuilder& log);
bool take_deepspeed_line(std::string_view line, LogBuilder& log);
// Adds an iteration made from timers of DeepSpeed that no iteration line followed.
void end_deepspeed_step(LogBuilder& log);
bool take_nemo_line(std::string_view line, LogBuilder& log);
bool take_torchtitan_line(std::string_view line, LogBuilder& log);
bool take_memory_line(std::string_view line, LogBuilder& log);

}  // namespace pipewright::analysis
