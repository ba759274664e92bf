#include "analysis/comm/nccl_log.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace pipewright::analysis {
namespace {

bool says(std::string_view line, std::string_view text) {
  return line.find(text) != std::string_view::npos;
}

}  // namespace

void NcclLog::open(const NcclColumns& columns, int number) {
  // Two headers without a row between are of two runs that write at the same time.
  const bool twice = columns_ && !ended_ && table_.rows.empty();
  LogRun run = run_.take_run();
  if (twice) run.interleaved = true;
  finish();
  std::vector<NamedProgram> programs = std::exchange(later_, {});
  programs.insert(programs.end(), run.programs.begin(), run.programs.end());
  run.programs = std::move(programs);
  columns_ = columns;
  table_ = {};
  table_.line = number;
  table_.run = std::move(run);
  table_.counts = columns.has_count();
  table_.redop = columns.has_redop();
  table_.cpu_time = columns.cpu_time();
  table_.milliseconds = columns.old();
  table_.root = columns.has_root();
  ended_ = false;
  ++tables_;
}

bool NcclLog::take_header(const Words& words, int number) {
  auto columns = NcclColumns::parse(words);
  if (!columns) return false;
  if (columns->blocks() == 1 && std::exchange(only_in_place_, false)) columns->set_first_in_place();
  open(*columns, number);
  return true;
}

bool NcclLog::take_row(const Words& words, int number) {
  if (columns_ && !ended_) {
    if (!columns_->take(words, number, table_)) return false;
    if (run_.begun() && !table_.rows.empty() && table_.rows.back().line == number)
      table_.run.interleaved = true;  // a row behind the first lines of the next run
    return true;
  }
  // Rows that someone cut out, without their header.
  const NcclColumns usual = NcclColumns::usual();
  LoggedTable probe;
  probe.counts = true;
  constexpr std::size_t words_of_row = 13;
  if (words.size() != words_of_row || nccl_type_bytes(words[2]) == 0 ||
      !usual.take(words, number, probe) || probe.rows.empty())
    return false;
  open(usual, number);
  return columns_->take(words, number, table_);
}

bool NcclLog::take(std::string_view line, const Words& words, int number) {
  if (words.empty()) return false;
  if (is_whole_number(words[0])) return take_row(words, number);
  if (says(line, "algbw") || says(line, "busbw")) {
    if (take_header(words, number)) return true;
  } else if (says(line, "in-place")) {
    only_in_place_ = !says(line, "out-of-place");
    return true;
  }
  if (columns_ && table_.rows.empty() && says(line, "(GB/s)")) {  // the line of units
    if (says(line, "(ms)")) table_.milliseconds = true;
    if (says(line, "(us)")) table_.milliseconds = false;
    return true;
  }
  if (says(line, "Avg bus bandwidth") || says(line, "Out of bounds values")) {
    ended_ = true;
    return true;
  }
  if (constexpr std::string_view concluded = "Collective test concluded: ";
      columns_ && says(line, concluded)) {
    const auto programs = named_programs(line.substr(line.find(concluded) + concluded.size()));
    if (!programs.empty()) table_.concluded = programs.front().name;
    finish();
    return true;
  }
  return take_row(words, number);
}

void NcclLog::finish() {
  if (columns_) later_ = meaning_.take(table_);
  columns_.reset();
}

}  // namespace pipewright::analysis
