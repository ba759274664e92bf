#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/commlogs/logs/log_lines.hpp"
#include "analysis/commlogs/logs/log_remarks.hpp"
#include "analysis/commlogs/logs/log_run.hpp"
#include "analysis/commlogs/measurement.hpp"

namespace pipewright::analysis {

struct OsuTest;

// Finds the tables of the OSU micro-benchmarks among the lines of a log. Their sizes are those of
// messages. For allgather, alltoall, gather and scatter, a message is one rank's part, so the bytes
// of a measurement are the size times the number of ranks.
class OsuLog {
 public:
  OsuLog(LogFile& file, LogRunReader& run) : file_(file), run_(run) {}

  bool take(std::string_view line, const Words& words, int number);
  void finish();

 private:
  bool take_title(std::string_view line, int number);
  void open(int number);
  void take_row(const Words& words, int number);
  void read_header(const LogRun& run);
  void place_ranks(const LogRun& run);
  [[noreturn]] void fail(int line, const std::string& message) const;

  LogFile& file_;
  LogRunReader& run_;

  std::string title_;         // "Allreduce Latency"; empty before a title.
  bool host_memory_ = false;  // Buffers are in host memory.
  bool is_open_ = false;
  int header_ = 0;
  const OsuTest* test_ = nullptr;  // Test of the open table; nullptr if its rows are left out.
  std::uint32_t ranks_ = 0, nodes_ = 0;
  std::size_t first_row_ = 0;  // Index of the table's first row in the log.
  RowTally odd_rows_;
};

}  // namespace pipewright::analysis
