#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/commlogs/logs/log_lines.hpp"

namespace pipewright::analysis {

// "all_reduce" of "./build/all_reduce_perf -b 8", "osu_bw" of "osu_bw D D".
struct NamedProgram {
  std::string name;
  bool with_options = false;  // which tells a command from a mention
};
std::vector<NamedProgram> named_programs(std::string_view line);

// What a command line says about the places of the ranks.
struct CommandRanks {
  std::optional<std::uint32_t> processes;
  std::optional<std::uint32_t> nodes;
  std::uint32_t gpus_per_process = 1;  // nccl-tests' -g and -t
};
// Understands mpirun, mpiexec, srun, flux run and programs that nothing launches.
CommandRanks read_command(std::string_view line);

struct LoggedDevice {
  std::uint32_t rank = 0;
  std::int64_t group = 0;  // groups of ranks work at the same time, each for itself
  std::string host;
};

// What a log says about a run before the run's table.
struct LogRun {
  std::vector<NamedProgram> programs;  // all that were named since the last table
  std::string started;                 // "all_reduce" of "# Collective test starting:"
  std::string command;                 // the last line that named a program
  std::vector<LoggedDevice> devices;
  std::uint32_t communicator_ranks = 0;  // of NCCL's "nRanks 16 nNodes 2"; 0: it does not say
  std::uint32_t communicator_nodes = 0;
  std::uint32_t aggregated = 1;  // operations that are one launch: nccl-tests' -m
  bool blocking = false;         // each operation waits for the end of the one before: -z
  bool interleaved = false;      // signs of a second run that writes at the same time
};

// Takes lines that say something about a run.
class LogRunReader {
 public:
  // False: the line says nothing that is known.
  bool take(std::string_view line, const Words& words, int number);
  // What was said up to here, which is forgotten.
  LogRun take_run();
  bool begun() const { return begun_ != 0; }  // by nccl-tests' first line
  // Puts those programs back that the table before did not use.
  void return_programs(std::vector<NamedProgram> programs);

 private:
  bool take_device(const Words& words);
  void take_command(std::string_view line);

  LogRun run_;
  int begun_ = 0;
  std::string continued_;  // lines of a command that end with a backslash
};

}  // namespace pipewright::analysis
