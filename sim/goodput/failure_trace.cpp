#include "sim/goodput/failure_trace.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/fields.hpp"
#include "sim/goodput/fault_events.hpp"

namespace pipewright::goodput {
namespace {

constexpr std::array<std::string_view, 6> columns{"time",  "kind",      "node",
                                                  "nodes", "detection", "repair"};

std::string trimmed(const std::string& text) {
  constexpr const char* blank = " \t\r\"";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(trimmed(cell));
  return cells;
}

std::vector<TracedFailure> read_csv(const std::filesystem::path& file,
                                    const config::Goodput& goodput, std::uint32_t nodes) {
  std::ifstream stream(file);
  std::string line;
  int number = 0;
  std::map<std::string, std::size_t, std::less<>> places;
  std::vector<TracedFailure> failures;
  std::map<std::string, std::uint64_t> node_numbers;  // A node without a name is a new cached.
  while (std::getline(stream, line)) {
    ++number;
    if (trimmed(line).empty() || line.front() == '#') continue;
    const std::vector<std::string> row = cells_of(line);
    const config::Origin origin{.source = file.string(), .line = number, .column = 1};
    if (places.empty()) {
      for (std::size_t i = 0; i < row.size(); ++i) places[row[i]] = i;
      if (!places.contains("time"))
        throw config::Error(
            origin, fmt::format("there is no column time; the columns of a failure trace are {}",
                                fmt::join(columns, ", ")));
      continue;
    }
    // Calls `read` with the field of a column unless the row lacks it or it is empty.
    const auto with = [&](std::string_view name, const auto& read) {
      const auto place = places.find(name);
      if (place == places.end() || place->second >= row.size() || row[place->second].empty())
        return;
      const config::Value value = config::make_text(row[place->second], origin);
      read(config::Field{value, std::string(name)});
    };
    TracedFailure failure{
        .kind = {.name = "node", .detection = goodput.detection, .repair = goodput.repair}};
    bool has_time = false;
    std::string name = fmt::format("line {}", number);
    with("time", [&](const config::Field& field) {
      failure.at = config::read_time(field, "a time from the start of training");
      has_time = true;
    });
    if (!has_time)
      throw config::Error(origin, "time is missing; every failure has one, such as 3.2 h");
    with("kind", [&](const config::Field& field) {
      failure.kind.name =
          config::failure_kinds.at(config::read_choice(field, config::failure_kinds));
      if (failure.kind.name == name_of(config::Goodput::Kind::software)) failure.kind.nodes = 0;
    });
    with("node", [&](const config::Field& field) { name = field.value.text; });
    failure.node = node_numbers.try_emplace(name, node_numbers.size()).first->second;
    with("nodes", [&](const config::Field& field) {
      failure.kind.nodes = field.value.text == "0" ? 0 : config::read_count(field, "1");
    });
    with("detection", [&](const config::Field& field) {
      failure.kind.detection = config::read_time(field, "a time");
    });
    with("repair", [&](const config::Field& field) {
      failure.kind.repair = config::read_time(field, "a time");
    });
    failure.kind.nodes = std::min(failure.kind.nodes, nodes);
    failures.push_back(failure);
  }
  if (places.empty())
    throw config::Error(fmt::format("{} is empty; a failure trace has a heading: {}", file.string(),
                                    fmt::join(columns, ",")));
  std::ranges::stable_sort(failures, {}, &TracedFailure::at);
  return failures;
}

// Failures that were read from a trace, and what they depend on: the file, the scenario's times of
// detection and repair, and the number of nodes.
struct CachedTrace {
  std::filesystem::path file;
  double detection = 0;
  double repair = 0;
  std::uint32_t nodes = 0;
  std::vector<TracedFailure> failures;
};

}  // namespace

// Caches traces, because searches read the same one for each candidate, for few different numbers
// of nodes.
std::vector<TracedFailure> read_failure_trace(const std::filesystem::path& file,
                                              const config::Goodput& goodput, std::uint32_t nodes) {
  static std::deque<CachedTrace> cache;
  for (const CachedTrace& cached : cache)
    if (cached.file == file && cached.detection == goodput.detection &&
        cached.repair == goodput.repair && cached.nodes == nodes)
      return cached.failures;
  constexpr std::size_t max_cached = 16;
  if (cache.size() == max_cached) cache.pop_front();
  return cache
      .emplace_back(CachedTrace{file, goodput.detection, goodput.repair, nodes,
                                file.extension() == ".json" ? read_fault_events(file, goodput)
                                                            : read_csv(file, goodput, nodes)})
      .failures;
}

}  // namespace pipewright::goodput
