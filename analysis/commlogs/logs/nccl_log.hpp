#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/commlogs/logs/log_lines.hpp"
#include "analysis/commlogs/logs/log_run.hpp"
#include "analysis/commlogs/logs/nccl_interpreter.hpp"
#include "analysis/commlogs/logs/nccl_table.hpp"

namespace pipewright::analysis {

// Finds the tables of nccl-tests among the lines of a log.
class NcclLog {
 public:
  // The caller passes all other lines of the log to `run`.
  NcclLog(LogFile& file, LogRunReader& run) : file_(file), run_(run), interpreter_(file) {}

  // Returns false if the line is not part of a table. Throws std::invalid_argument for impossible
  // values.
  bool take(std::string_view line, const Words& words, int number);
  void finish();  // Ends the open table, at the end of the log or where another table begins.

 private:
  bool take_header(const Words& words, int number);
  bool take_row(const Words& words, int number);
  void open(const NcclColumns& columns, int number);

  LogFile& file_;
  LogRunReader& run_;
  NcclInterpreter interpreter_;
  std::optional<NcclColumns> columns_;
  LoggedTable table_;
  // Programs that were named but did not belong to the tables so far.
  std::vector<NamedProgram> unused_programs_;
  // The line above the header says that the only times are those in place.
  bool first_in_place_ = false;
  bool has_ended_ = false;  // The footer of the table was read.
};

// Reads the output of nccl-tests -J: one run, in one line. Returns no value for any other file.
// Throws TraceError for impossible values.
std::optional<LoggedTable> read_nccl_json(const std::filesystem::path& file);

}  // namespace pipewright::analysis
