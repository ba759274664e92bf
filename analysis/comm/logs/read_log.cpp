#include "analysis/comm/logs/read_log.hpp"

#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "analysis/comm/logs/log_lines.hpp"
#include "analysis/comm/logs/log_remarks.hpp"
#include "analysis/comm/logs/log_run.hpp"
#include "analysis/comm/logs/nccl_log.hpp"
#include "analysis/comm/logs/nccl_meaning.hpp"
#include "analysis/comm/logs/osu_log.hpp"
#include "analysis/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

struct Found {
  int tables = 0;
  bool unknown = false;  // tables of operations that nothing predicts
  std::optional<Unusable> unusable;
};

// Why nothing came of a file.
Unusable why_nothing(const Found& found, int last_line, std::span<const LogRemark> remarks) {
  if (found.unusable) return *found.unusable;
  if (last_line == 0) return {1, "the file is empty"};
  if (found.tables == 0)
    return {last_line,
            "no line up to here is the header of a table; what was expected is what nccl-tests "
            "('size count type redop root time algbw busbw ..') or the OSU micro-benchmarks "
            "('# Size  Avg Latency(us)') print"};
  if (found.unknown)
    return {last_line,
            "no table up to here is of an operation that is predicted: all-reduce, all-gather, "
            "reduce-scatter, all-to-all, broadcast, send-recv, or OSU's latency and bandwidth"};
  if (!remarks.empty())
    return {remarks.front().line, "nothing to compare: " + remarks.front().text};
  return {last_line, "the table ends before its first row"};
}

void finish_file(const std::filesystem::path& file, MeasurementLog& log, std::size_t rows,
                 std::size_t remarks, const Found& found, int last_line) {
  if (log.rows.size() > rows) return merge_equal_remarks(log.remarks, remarks);
  const Unusable why = why_nothing(found, last_line, std::span(log.remarks).subspan(remarks));
  throw trace::TraceError(fmt::format("{}:{}: {}", printable(file.string()), why.line, why.why));
}

// Most lines of a log with NCCL_DEBUG=INFO: "host:1234:1240 [0] NCCL INFO Channel 00/0 : ..". A row
// may be mixed with one, and some say how many ranks there are.
bool is_debug(std::string_view line) {
  return !line.empty() && (line.front() < '0' || line.front() > '9') &&
         line.find("] NCCL ") != std::string_view::npos &&
         line.find(" nRanks ") == std::string_view::npos;
}

void read_text(const std::filesystem::path& file, const LogHints& hints, MeasurementLog& log) {
  LogLines lines(file);
  const std::size_t first_row = log.rows.size();
  const std::size_t first_remark = log.remarks.size();
  LogRunReader run;
  NcclMeaning meaning(file.string(), hints, log);
  NcclLog nccl(run, meaning);
  OsuLog osu(file.string(), run, hints, log);
  Words words;
  while (lines.next()) {
    if (is_debug(lines.text())) continue;
    split_words(lines.text(), words);
    try {
      if (run.take(lines.text(), words, lines.number())) continue;
      const int tables = nccl.tables();
      if (nccl.take(lines.text(), words, lines.number())) {
        if (nccl.tables() > tables) osu.finish();
        continue;
      }
      osu.take(lines.text(), words, lines.number());
    } catch (const std::invalid_argument& error) {
      lines.fail(lines.number(), error.what());
    }
  }
  nccl.finish();
  osu.finish();
  finish_file(file, log, first_row, first_remark,
              {nccl.tables() + osu.tables(), meaning.any_unknown() || osu.any_unknown(),
               meaning.unusable() ? meaning.unusable() : osu.unusable()},
              lines.number());
}

void read_json(const std::filesystem::path& file, const LoggedTable& table, const LogHints& hints,
               MeasurementLog& log) {
  const std::size_t first_row = log.rows.size();
  const std::size_t first_remark = log.remarks.size();
  NcclMeaning meaning(file.string(), hints, log);
  meaning.take(table);
  finish_file(file, log, first_row, first_remark, {1, meaning.any_unknown(), meaning.unusable()},
              table.line);
}

}  // namespace

MeasurementLog read_logs(std::span<const std::filesystem::path> files, const LogHints& hints) {
  MeasurementLog log;
  for (const std::filesystem::path& file : files) {
    if (const auto table = read_nccl_json(file))
      read_json(file, *table, hints, log);
    else
      read_text(file, hints, log);
  }
  return log;
}

}  // namespace pipewright::analysis
