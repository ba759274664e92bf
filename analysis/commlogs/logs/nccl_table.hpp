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

// Time and rates of one row, either in place or out of place.
struct LoggedTime {
  PrintedNumber seconds;
  PrintedNumber algbw, busbw;  // GB/s
  bool in_place = false;
  enum class Checked : std::uint8_t { unknown, yes, no } checked = Checked::unknown;
};

struct LoggedRow {
  int line = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;  // In elements; 0 if the table does not say.
  std::string type;
  bool reduces = false;              // The column "redop" names a reduction.
  std::optional<std::int64_t> root;  // Counted from 0; without a value also if the table prints -1.
  std::array<LoggedTime, 2> times;
  std::size_t timed = 0;  // Number of valid entries of `times`.
};

// Optional columns that a table of nccl-tests has, and the kind and unit of its times.
struct LoggedColumns {
  bool count = false, type = false, redop = false, root = false;
  bool cpu_time = false;      // Times are CPU times: option -C.
  bool milliseconds = false;  // Times are in milliseconds (2017 and 2018) instead of microseconds.
};

// A table of nccl-tests as it was printed.
struct LoggedTable {
  int line = 0;  // Line of the header.
  LogRun run;
  LoggedColumns columns;
  std::string concluded_test;  // "all_reduce" for "# Collective test concluded: ..".
  std::vector<LoggedRow> rows;
  RowTally odd_rows;
};

// Columns of a table of nccl-tests, from a header of any year: "size count type redop root time
// algbw busbw #wrong time algbw busbw #wrong", where the last four columns repeat for operations in
// place, or "bytes N type op .." (2017 and 2018, in milliseconds).
class NcclColumns {
 public:
  // Parses a header of nccl-tests, of any year; returns no value if the words are no such header.
  static std::optional<NcclColumns> parse(const Words& words);
  // Returns the columns that nccl-tests prints since 2022, to read rows whose header is missing.
  static NcclColumns current_format();

  // Parses a row and adds it to `table`, or counts it there with the reason for leaving it out.
  // Returns false if the words are not a row. Throws std::invalid_argument for impossible values.
  bool take(const Words& words, int line, LoggedTable& table) const;

  const LoggedColumns& logged() const { return logged_; }
  void set_first_in_place() { first_in_place_ = true; }  // The only times are those in place.
  std::size_t blocks() const { return blocks_.size(); }

 private:
  // Word positions, counted from the start of the row, of the columns of one time: the time, its
  // rates and its check of results.
  struct Block {
    std::size_t time = 0;
    std::optional<std::size_t> algbw, busbw, check;
    bool counts_wrong = false;  // The check is the column "#wrong". Before 2022 it was a deviation.
    std::size_t width = 0;
  };
  std::optional<std::size_t> row_start(const Words& words) const;
  bool take_times(const Words& words, std::size_t offset, LoggedRow& row, LoggedTable& table) const;

  LoggedColumns logged_;
  bool first_in_place_ = false;
  std::vector<Block> blocks_;
};

// Returns the bytes of an element of a type of nccl-tests, or 0 if the type is unknown.
std::uint32_t nccl_type_bytes(std::string_view type);

}  // namespace pipewright::analysis
