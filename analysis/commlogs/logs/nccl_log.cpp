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

bool contains_text(std::string_view line, std::string_view text) {
  return line.find(text) != std::string_view::npos;
}

constexpr double json_microsecond = 1e-6;

std::uint64_t json_whole(const Json& object, const char* key) {
  return object.value(key, std::uint64_t{0});
}

// Lists the devices of the run. Each process reports only the first of its threads x GPUs devices.
void take_devices(const Json& config, LogRun& run) {
  const std::uint64_t process_devices = std::clamp<std::uint64_t>(
      json_whole(config, "nthreads") * json_whole(config, "ngpus"), 1, 1024);
  const auto devices = config.find("devices");
  if (devices == config.end()) return;
  for (const Json& device : *devices)
    for (std::uint64_t i = 0; i < process_devices; ++i)
      run.devices.push_back(
          {static_cast<std::uint32_t>(run.devices.size()), device.value("group", std::int64_t{0}),
           device.value("hostname", std::string()), device.value("device_info", std::string())});
}

void take_times(const Json& result, const char* key, bool in_place, LoggedRow& row,
                LoggedTable& table) {
  const auto times = result.find(key);
  if (times == result.end() || !times->is_object()) return;
  table.columns.cpu_time = table.columns.cpu_time || times->contains("cpu_time");
  const auto time = times->find("time");
  const double seconds =
      time != times->end() && time->is_number() ? time->get<double>() * json_microsecond : 0;
  if (!(seconds > 0)) {
    if (!table.columns.cpu_time)
      table.odd_rows.add("left out (no time: N/A, NaN, infinite or 0)", row.line);
    return;
  }
  constexpr double half = 5e-7;  // Printed with 6 decimals.
  const auto rate = [&](const char* name) {
    const auto value = times->find(name);
    const bool has_value = value != times->end() && value->is_number();
    return PrintedNumber{has_value ? value->get<double>() : std::nan(""), half};
  };
  using Checked = LoggedTime::Checked;
  const auto wrong = times->find("nwrong");
  const auto checked = wrong == times->end() ? Checked::unknown
                       : wrong->is_number()  ? Checked::yes
                                             : Checked::no;
  row.times.at(row.timed++) = {
      {seconds, half * json_microsecond}, rate("alg_bw"), rate("bus_bw"), in_place, checked};
}

LoggedTable table_from_json(const Json& json) {
  LoggedTable table;
  table.line = 1;
  table.columns = {.count = true, .redop = true, .root = true};
  const auto arguments = json.find("args");
  if (arguments != json.end() && !arguments->empty()) {
    const auto programs = named_programs(arguments->front().get<std::string>());
    if (!programs.empty()) table.run.started_test = programs.front().name;
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
    row.bytes = json_whole(result, "size");
    row.count = json_whole(result, "count");
    row.type = result.value("type", std::string()).substr(0, 16);
    row.reduces = result.value("redop", std::string("none")) != "none";
    const std::string root = result.value("root", std::string("-1"));
    if (root.find('-') == std::string::npos) row.root = std::stoll(root);
    if (row.bytes == 0) {
      table.odd_rows.add("left out (0 bytes)", row.line);
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
  // Two headers without a row in between belong to two runs that write at the same time.
  const bool has_two_headers = columns_ && !has_ended_ && table_.rows.empty();
  LogRun run = run_.take_run();
  if (has_two_headers) run.interleaved = true;
  finish();
  std::vector<NamedProgram> programs = std::exchange(unused_programs_, {});
  programs.insert(programs.end(), run.programs.begin(), run.programs.end());
  run.programs = std::move(programs);
  columns_ = columns;
  table_ = {};
  table_.line = number;
  table_.run = std::move(run);
  table_.columns = columns.logged();
  has_ended_ = false;
  ++file_.tables;
}

bool NcclLog::take_header(const Words& words, int number) {
  auto columns = NcclColumns::parse(words);
  if (!columns) return false;
  if (columns->blocks() == 1 && std::exchange(first_in_place_, false))
    columns->set_first_in_place();
  open(*columns, number);
  return true;
}

bool NcclLog::take_row(const Words& words, int number) {
  if (columns_ && !has_ended_) {
    if (!columns_->take(words, number, table_)) return false;
    if (run_.has_begun() && !table_.rows.empty() && table_.rows.back().line == number)
      table_.run.interleaved = true;  // The row stands behind the first lines of the next run.
    return true;
  }
  // Accepts a row without a header, as in excerpts of logs, if it fits the current format.
  const NcclColumns current_columns = NcclColumns::current_format();
  LoggedTable probe;
  probe.columns.count = true;
  constexpr std::size_t words_per_row = 13;
  if (words.size() != words_per_row || nccl_type_bytes(words[2]) == 0 ||
      !current_columns.take(words, number, probe) || probe.rows.empty())
    return false;
  open(current_columns, number);
  return columns_->take(words, number, table_);
}

bool NcclLog::take(std::string_view line, const Words& words, int number) {
  if (words.empty()) return false;
  if (is_whole_number(words[0])) return take_row(words, number);
  if (contains_text(line, "algbw") || contains_text(line, "busbw")) {
    if (take_header(words, number)) return true;
  } else if (contains_text(line, "in-place")) {
    first_in_place_ = !contains_text(line, "out-of-place");
    return true;
  }
  if (columns_ && table_.rows.empty() && contains_text(line, "(GB/s)")) {  // The line of units.
    if (contains_text(line, "(ms)")) table_.columns.milliseconds = true;
    if (contains_text(line, "(us)")) table_.columns.milliseconds = false;
    return true;
  }
  if (contains_text(line, "Avg bus bandwidth") || contains_text(line, "Out of bounds values")) {
    has_ended_ = true;
    return true;
  }
  if (constexpr std::string_view concluding = "Collective test concluded: ";
      columns_ && contains_text(line, concluding)) {
    const auto programs = named_programs(line.substr(line.find(concluding) + concluding.size()));
    if (!programs.empty()) table_.concluded_test = programs.front().name;
    finish();
    return true;
  }
  return take_row(words, number);
}

void NcclLog::finish() {
  if (columns_) unused_programs_ = interpreter_.take(table_);
  columns_.reset();
}

std::optional<LoggedTable> read_nccl_json(const std::filesystem::path& file) {
  std::error_code no_error;
  if (!std::filesystem::is_regular_file(file, no_error))
    return std::nullopt;  // Peeking into a pipe would lose its content.
  TextSource source(file);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);
  stream >> std::ws;
  if (stream.peek() != '{') return std::nullopt;
  constexpr std::uint64_t max_bytes = 64U << 20U;  // A row takes about 300 bytes.
  std::string text;
  std::array<char, 1U << 16U> buffer{};
  while (stream.good() && text.size() < max_bytes) {
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
    return table_from_json(json);
  } catch (const std::exception& error) {
    throw trace::TraceError(
        fmt::format("{}:1: not valid output of nccl-tests -J: {}", source.name(), error.what()));
  }
}

}  // namespace pipewright::analysis
