#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/commlogs/logs/log_lines.hpp"
#include "analysis/commlogs/logs/log_run.hpp"
#include "analysis/commlogs/logs/nccl_meaning.hpp"
#include "analysis/commlogs/logs/nccl_table.hpp"

namespace pipewright::analysis {

// Finds the tables of nccl-tests among the lines of a log.
class NcclLog {
 public:
  // `run` is told of by other lines, which the caller gives to it.
  NcclLog(LogFile& file, LogRunReader& run) : file_(file), run_(run), meaning_(file) {}

  // False: the line is no part of a table. Throws std::invalid_argument.
  bool take(std::string_view line, const Words& words, int number);
  void finish();  // at the end, or where something else begins

 private:
  bool take_header(const Words& words, int number);
  bool take_row(const Words& words, int number);
  void open(const NcclColumns& columns, int number);

  LogFile& file_;
  LogRunReader& run_;
  NcclMeaning meaning_;
  std::optional<NcclColumns> columns_;
  LoggedTable table_;
  std::vector<NamedProgram> later_;  // named, but not of the tables so far
  bool only_in_place_ = false;       // by the line above a header
  bool ended_ = false;               // the table's footer was there
};

// What nccl-tests write with -J: one run, in one line. Without a value: the file is another one.
// Throws TraceError for such a file with values that cannot be.
std::optional<LoggedTable> read_nccl_json(const std::filesystem::path& file);

}  // namespace pipewright::analysis
