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
  // The caller passes each line that is not part of a table to `run` itself.
  NcclLog(LogFile& file, LogRunReader& run) : file_(file), run_(run), interpreter_(file) {}

  // Reads a line of the log. Returns false if it is not part of a table. Throws
  // std::invalid_argument for impossible values.
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
  // Programs that the log named but that no table so far belonged to.
  std::vector<NamedProgram> unused_programs_;
  // Set if the line above the header says that the table has only times of in-place operations.
  bool first_in_place_ = false;
  bool has_ended_ = false;  // The footer of the table was read.
};

// Reads the output of nccl-tests -J: one run, in one line. Returns no value for any other file.
// Throws TraceError for impossible values.
std::optional<LoggedTable> read_nccl_json(const std::filesystem::path& file);

}  // namespace pipewright::analysis
