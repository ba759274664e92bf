#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/commlogs/logs/log_lines.hpp"
#include "analysis/commlogs/logs/log_remarks.hpp"
#include "analysis/commlogs/logs/log_run.hpp"

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

// Which columns a table has beside its sizes and times, and what these times are.
struct LoggedColumns {
  bool count = false, type = false, redop = false, root = false;
  bool cpu_time = false;      // the CPU's: -C
  bool milliseconds = false;  // in 2017 and 2018; else microseconds
};

// A table of nccl-tests as it was printed.
struct LoggedTable {
  int line = 0;  // of its header
  LogRun run;
  LoggedColumns has;
  std::string concluded;  // "all_reduce" of "# Collective test concluded:"
  std::vector<LoggedRow> rows;
  RowTally odd_rows;
};

// The header of a table of nccl-tests, of any year: "size count type redop root time algbw busbw
// #wrong time algbw busbw #wrong", with a block for each way to do it, or "bytes N type op .."
// (2017, 2018: in milliseconds).
class NcclColumns {
 public:
  // Without a value: these words are no such header.
  static std::optional<NcclColumns> parse(const Words& words);
  // Of a row without a header before it: the columns as they are since 2022.
  static NcclColumns usual();

  // Adds the row that the words are to `table`, or why it is left out. False: they are no row.
  // Throws std::invalid_argument for one that cannot be.
  bool take(const Words& words, int line, LoggedTable& table) const;

  const LoggedColumns& has() const { return has_; }
  void set_first_in_place() { first_in_place_ = true; }  // the only block is the one in place
  std::size_t blocks() const { return blocks_.size(); }

 private:
  // Which words of a block, from 0, these are.
  struct Block {
    std::size_t time = 0;
    std::optional<std::size_t> algbw, busbw, check;
    bool counts_wrong = false;  // the check's column is "#wrong"; before 2022 it was of deviations
    std::size_t width = 0;
  };
  std::optional<std::size_t> start_of_row(const Words& words) const;
  bool take_times(const Words& words, std::size_t at, LoggedRow& row, LoggedTable& table) const;

  LoggedColumns has_;
  bool first_in_place_ = false;
  std::vector<Block> blocks_;
};

// Bytes of an element of nccl-tests' type; 0: no such type is known.
std::uint32_t nccl_type_bytes(std::string_view type);

}  // namespace pipewright::analysis
