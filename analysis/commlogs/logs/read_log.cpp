#include "analysis/commlogs/logs/read_log.hpp"

#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "analysis/commlogs/logs/log_lines.hpp"
#include "analysis/commlogs/logs/log_remarks.hpp"
#include "analysis/commlogs/logs/log_run.hpp"
#include "analysis/commlogs/logs/nccl_interpreter.hpp"
#include "analysis/commlogs/logs/nccl_log.hpp"
#include "analysis/commlogs/logs/osu_log.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

// Explains why a file has no usable rows.
UnusableTable explain_no_rows(const LogFile& file, int last_line,
                              std::span<const LogRemark> remarks) {
  if (file.unusable_table) return *file.unusable_table;
  if (last_line == 0) return {1, "the file is empty"};
  if (file.tables == 0)
    return {last_line,
            "no table found up to here; expected the output of nccl-tests "
            "('size count type redop root time algbw busbw ..') or of the OSU micro-benchmarks "
            "('# Size  Avg Latency(us)')"};
  if (file.has_unknown)
    return {
        last_line,
        "no table up to here measures an operation that can be predicted: all-reduce, all-gather, "
        "reduce-scatter, all-to-all, broadcast, reduce, gather, scatter, send-recv, or OSU's "
        "latency and bandwidth"};
  if (!remarks.empty())
    return {remarks.front().line, "nothing to compare: " + remarks.front().text};
  return {last_line, "the table ends before its first row"};
}

// Returns true for debug output of NCCL, which makes up most lines of a log with NCCL_DEBUG=INFO:
// "host:1234:1240 [0] NCCL INFO Channel 00/0 : ..". Lines mixed with a table row and lines with the
// number of ranks do not count.
bool is_nccl_debug_line(std::string_view line) {
  return !line.empty() && (line.front() < '0' || line.front() > '9') &&
         line.find("] NCCL ") != std::string_view::npos &&
         line.find(" nRanks ") == std::string_view::npos;
}

// Reads all tables of a text log into `file`. Returns the number of its last line.
int read_text(const std::filesystem::path& path, LogFile& file) {
  LogLines lines(path);
  LogRunReader run;
  NcclLog nccl(file, run);
  OsuLog osu(file, run);
  Words words;
  while (lines.next()) {
    if (is_nccl_debug_line(lines.text())) continue;
    split_words(lines.text(), words);
    try {
      if (run.take(lines.text(), words, lines.number())) continue;
      const int tables = file.tables;
      if (nccl.take(lines.text(), words, lines.number())) {
        if (file.tables > tables) osu.finish();
        continue;
      }
      osu.take(lines.text(), words, lines.number());
    } catch (const std::invalid_argument& error) {
      lines.fail(lines.number(), error.what());
    }
  }
  nccl.finish();
  osu.finish();
  return lines.number();
}

void read_file(const std::filesystem::path& path, const LogHints& hints, MeasurementLog& log) {
  LogFile file{.name = path.string(), .hints = hints, .log = log, .unusable_table = {}};
  const std::size_t rows = log.rows.size();
  const std::size_t remarks = log.remarks.size();
  int last_line = 1;
  if (const auto table = read_nccl_json(path)) {
    file.tables = 1;
    NcclInterpreter(file).take(*table);
  } else {
    last_line = read_text(path, file);
  }
  if (log.rows.size() > rows) return merge_equal_remarks(log.remarks, remarks);
  const UnusableTable empty =
      explain_no_rows(file, last_line, std::span(log.remarks).subspan(remarks));
  throw trace::TraceError(fmt::format("{}:{}: {}", printable(file.name), empty.line, empty.reason));
}

}  // namespace

MeasurementLog read_logs(std::span<const std::filesystem::path> files, const LogHints& hints) {
  MeasurementLog log;
  for (const std::filesystem::path& file : files) read_file(file, hints, log);
  return log;
}

}  // namespace pipewright::analysis
