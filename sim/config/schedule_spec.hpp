#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/parameters.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// A schedule as a scenario names it, with its parameters. The catalog of schedules checks them
// later.
struct ScheduleSpec {
  std::string name;
  // Values of the schedule's parameters, in the order of schedules::choices; no value: default.
  std::array<std::optional<Located<std::uint32_t>>, schedules::choices.size()> choices;
  std::optional<Located<std::uint64_t>>
      memory_limit;     // bytes per device; used by the searched schedule
  bool legacy = false;  // a .csv is in PyTorch's format of 2024
  Origin origin;

  const std::optional<Located<std::uint32_t>>& operator[](schedules::Choice choice) const;
  std::optional<Located<std::uint32_t>>& operator[](schedules::Choice choice);
  void put_choices(schedules::Parameters& parameters) const;
};

// Kind of source that a schedule comes from, determined by the end of its name.
enum class ScheduleSource : std::uint8_t {
  catalog,
  torch_file,      // .csv: a schedule file of PyTorch
  building_block,  // .yaml, .yml
  search,          // `searched`: an order that is optimized for the costs of the scenario
};
inline constexpr std::string_view searched = "searched";
ScheduleSource schedule_source(std::string_view name);
bool is_file(ScheduleSource source);

// Reads a schedule by name, a map, or a list of them. Names of files become paths from the current
// folder.
std::vector<ScheduleSpec> read_schedules(const Field& field);

// Replaces the names of schedule files in the tree by full paths, so that it does not depend on the
// current folder.
void resolve_schedules(Value& schedules, const std::vector<ScheduleSpec>& specs);

std::vector<KeyRow> schedule_keys();

}  // namespace pipewright::config
