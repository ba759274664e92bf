#include "analysis/commlogs/logs/nccl_log.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <istream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/measured/files/input_file.hpp"
#include "analysis/report/report_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

bool says(std::string_view line, std::string_view text) {
  return line.find(text) != std::string_view::npos;
}

constexpr double microsecond = 1e-6;

std::uint64_t whole(const Json& object, const char* key) {
  return object.value(key, std::uint64_t{0});
}

// Each process told of its first device only, of as many as it has threads x GPUs.
void take_devices(const Json& config, LogRun& run) {
  const std::uint64_t of_process =
      std::clamp<std::uint64_t>(whole(config, "nthreads") * whole(config, "ngpus"), 1, 1024);
  const auto devices = config.find("devices");
  if (devices == config.end()) return;
  for (const Json& device : *devices)
    for (std::uint64_t i = 0; i < of_process; ++i)
      run.devices.push_back({static_cast<std::uint32_t>(run.devices.size()),
                             device.value("group", std::int64_t{0}),
                             device.value("hostname", std::string())});
}

void take_times(const Json& result, const char* key, bool in_place, LoggedRow& row,
                LoggedTable& table) {
  const auto times = result.find(key);
  if (times == result.end() || !times->is_object()) return;
  table.has.cpu_time = table.has.cpu_time || times->contains("cpu_time");
  const auto time = times->find("time");
  const double seconds =
      time != times->end() && time->is_number() ? time->get<double>() * microsecond : 0;
  if (!(seconds > 0)) {
    if (!table.has.cpu_time)
      table.odd_rows.add("left out: no time (N/A, NaN, infinite or 0)", row.line);
    return;
  }
  constexpr double half = 5e-7;  // printed with 6 decimals
  const auto rate = [&](const char* name) {
    const auto value = times->find(name);
    const bool known = value != times->end() && value->is_number();
    return PrintedNumber{known ? value->get<double>() : std::nan(""), half};
  };
  using Checked = LoggedTime::Checked;
  const auto wrong = times->find("nwrong");
  const auto checked = wrong == times->end() ? Checked::unknown
                       : wrong->is_number()  ? Checked::yes
                                             : Checked::no;
  row.times.at(row.timed++) = {
      {seconds, half * microsecond}, rate("alg_bw"), rate("bus_bw"), in_place, checked};
}

LoggedTable table_of(const Json& json) {
  LoggedTable table;
  table.line = 1;
  table.has = {.count = true, .redop = true, .root = true};
  const auto arguments = json.find("args");
  if (arguments != json.end() && !arguments->empty()) {
    const auto programs = named_programs(arguments->front().get<std::string>());
    if (!programs.empty()) table.run.started = programs.front().name;
  }
  if (const auto config = json.find("config"); config != json.end()) {
    take_devices(*config, table.run);
    table.run.aggregated =
        static_cast<std::uint32_t>(config->value("aggregated_iterations", std::int64_t{1}));
    table.run.blocking = config->value("blocking_collectives", std::string("false")) == "true";
  }
  for (const Json& result : json.at("results")) {
    LoggedRow row;
    row.line = 1;
    row.bytes = whole(result, "size");
    row.count = whole(result, "count");
    row.type = result.value("type", std::string()).substr(0, 16);
    row.reduces = result.value("redop", std::string("none")) != "none";
    const std::string root = result.value("root", std::string("-1"));
    if (root.find('-') == std::string::npos) row.root = std::stoll(root);
    if (row.bytes == 0) {
      table.odd_rows.add("left out: of 0 bytes", row.line);
      continue;
    }
    take_times(result, "out_of_place", false, row, table);
    take_times(result, "in_place", true, row, table);
    if (row.timed > 0) table.rows.push_back(std::move(row));
  }
  return table;
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
  table_.has = columns.has();
  ended_ = false;
  ++file_.tables;
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
  probe.has.count = true;
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
    if (says(line, "(ms)")) table_.has.milliseconds = true;
    if (says(line, "(us)")) table_.has.milliseconds = false;
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

std::optional<LoggedTable> read_nccl_json(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    return std::nullopt;  // of a pipe, all is lost
  TextSource source(file);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);
  stream >> std::ws;
  if (stream.peek() != '{') return std::nullopt;
  constexpr std::uint64_t most = 64U << 20U;  // bytes; each row has some 300
  std::string text;
  std::array<char, 1U << 16U> buffer{};
  while (stream.good() && text.size() < most) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    text.append(buffer.data(), static_cast<std::size_t>(stream.gcount()));
    source.mark();
  }
  Json json;
  try {
    json = parse_json(text);
  } catch (const Json::parse_error&) {
    return std::nullopt;
  }
  if (!json.is_object() || !json.contains("results") || !json["results"].is_array())
    return std::nullopt;
  try {
    return table_of(json);
  } catch (const std::exception& error) {
    throw trace::TraceError(
        fmt::format("{}:1: is no output of nccl-tests' -J: {}", source.name(), error.what()));
  }
}

}  // namespace pipewright::analysis
