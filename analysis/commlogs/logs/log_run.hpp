#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/commlogs/logs/log_lines.hpp"

namespace pipewright::analysis {

// A benchmark program that a line names: "all_reduce" for "./build/all_reduce_perf -b 8", "osu_bw"
// for "osu_bw D D".
struct NamedProgram {
  std::string name;
  bool has_options = false;  // Options distinguish a command from a mention.
};
std::vector<NamedProgram> named_programs(std::string_view line);

// Number and placement of ranks according to a command line.
struct CommandRanks {
  std::optional<std::uint32_t> processes;
  std::optional<std::uint32_t> nodes;
  std::uint32_t gpus_per_process = 1;  // From the options -g and -t of nccl-tests.
};
// Reads commands of mpirun, mpiexec, srun and flux run, and programs without a launcher.
CommandRanks read_command(std::string_view line);

struct LoggedDevice {
  std::uint32_t rank = 0;
  std::int64_t group = 0;  // Groups of ranks work at the same time, independently of each other.
  std::string host;
  std::string gpu;  // Name of the GPU; empty if the log does not name it.
};

// Facts about a run that a log gives before the run's table.
struct LogRun {
  std::vector<NamedProgram> programs;  // All programs named since the last table.
  std::string started_test;            // "all_reduce" for "# Collective test starting: ..".
  std::string command;                 // The last line that named a program.
  std::vector<LoggedDevice> devices;
  std::uint32_t communicator_ranks = 0;  // From NCCL's "nRanks 16 nNodes 2"; 0 if unknown.
  std::uint32_t communicator_nodes = 0;
  std::uint32_t aggregated = 1;  // Operations per launch: option -m of nccl-tests.
  bool blocking = false;         // Each operation waits for the previous one to end: option -z.
  bool interleaved = false;      // There are signs of a second run that writes at the same time.
};

// Collects the facts about a run from the lines of a log.
class LogRunReader {
 public:
  // Reads a line; returns false if it has no facts about a run.
  bool take(std::string_view line, const Words& words, int number);
  // Returns the facts collected so far, and starts a new collection.
  LogRun take_run();
  bool has_begun() const { return header_line_ != 0; }  // The first line of nccl-tests was seen.
  // Takes back programs named before the previous table that this table did not use, so that the
  // next table can.
  void return_programs(std::vector<NamedProgram> programs);

 private:
  bool take_device(const Words& words);
  void take_command(std::string_view line);

  LogRun run_;
  int header_line_ = 0;
  std::string continued_;  // Lines of a command that end with a backslash.
};

}  // namespace pipewright::analysis
