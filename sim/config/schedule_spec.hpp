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

// A schedule of a scenario. The catalog checks its name and its choices.
struct ScheduleSpec {
  std::string name;
  // Values of schedules::choices, in the same order.
  std::array<std::optional<Located<std::uint32_t>>, schedules::choices.size()> choices;
  std::optional<Located<std::uint64_t>>
      memory_limit;     // bytes per device; used by the searched schedule
  bool legacy = false;  // a .csv is in PyTorch's format of 2024
  Origin origin;

  const std::optional<Located<std::uint32_t>>& operator[](schedules::Choice choice) const;
  std::optional<Located<std::uint32_t>>& operator[](schedules::Choice choice);
  void put_choices(schedules::Parameters& parameters) const;
};

// Source of a schedule, which the end of its name determines.
enum class ScheduleSource : std::uint8_t {
  catalog,
  torch_file,      // .csv: a schedule file of PyTorch
  building_block,  // .yaml, .yml
  search,          // `searched`: an order that is optimized for the costs of the scenario
};
inline constexpr std::string_view searched = "searched";
ScheduleSource schedule_source(std::string_view name);
bool is_file(ScheduleSource source);

// Reads a name, a map, or a list of them. Names of files become paths from the current folder.
std::vector<ScheduleSpec> read_schedules(const Field& field);

// Puts the paths of schedule files into the tree, so that it does not depend on the folder.
void resolve_schedules(Value& schedules, const std::vector<ScheduleSpec>& specs);

std::vector<KeyRow> schedule_keys();

}  // namespace pipewright::config
