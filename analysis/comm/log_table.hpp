#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/comm/log_run.hpp"
#include "analysis/comm/log_words.hpp"
#include "analysis/comm/measurement.hpp"

namespace pipewright::analysis {

// What one row of nccl-tests' table says of one way to do it.
struct LoggedTime {
  PrintedNumber seconds;
  PrintedNumber algbw, busbw;  // GB/s
  bool in_place = false;
  enum class Checked : std::uint8_t { unknown, yes, no } checked = Checked::unknown;
};

struct LoggedRow {
  int line = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;  // elements; 0: it does not say
  std::string type;
  bool reduces = false;              // its column "redop" names a reduction
  std::optional<std::int64_t> root;  // from 0; without a value also where it is -1
  std::array<LoggedTime, 2> times;
  std::size_t timed = 0;  // how many of these
};

// What happened to rows, "left out: of 0 bytes": to how many, and to which one first.
class RowTally {
 public:
  void add(const std::string& what, int line);
  void append_to(std::vector<LogRemark>& remarks, const std::string& file) const;

 private:
  struct Rows {
    int first = 0;
    std::size_t count = 0;
  };
  std::map<std::string, Rows> rows_;
};

// A table that says too little of itself, and what is missing.
struct Unusable {
  int line = 0;
  std::string why;
};

// A table of nccl-tests as it was printed.
struct LoggedTable {
  int line = 0;  // of its header
  LogRun run;
  bool counts = false;    // it has a column "count"
  bool redop = false;     // it has a column "redop"
  bool root = false;      // it has a column "root"
  bool cpu_time = false;  // what it shows is the CPU's time: -C
  bool milliseconds = false;
  std::string concluded;  // "all_reduce" of "# Collective test concluded:"
  std::vector<LoggedRow> rows;
  RowTally odd_rows;
};

}  // namespace pipewright::analysis
