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

// A schedule as asked for. Whether a name exists, and what it takes, the catalog knows.
struct ScheduleSpec {
  std::string name;
  // In the order of schedules::choices.
  std::array<std::optional<Located<std::uint32_t>>, schedules::choices.size()> choices;
  std::optional<Located<std::uint64_t>>
      memory_limit;     // bytes of a device, where an order is searched
  bool legacy = false;  // of a .csv: as PyTorch wrote them in 2024
  Origin origin;

  const std::optional<Located<std::uint32_t>>& operator[](schedules::Choice choice) const;
  std::optional<Located<std::uint32_t>>& operator[](schedules::Choice choice);
  void put_choices(schedules::Parameters& parameters) const;
};

// What a schedule's name is, by how it ends.
enum class ScheduleSource : std::uint8_t {
  catalog,
  torch_file,      // .csv: a schedule of PyTorch
  building_block,  // .yaml, .yml
  search,          // `searched`: an order that is searched for the scenario's own costs
};
inline constexpr std::string_view searched = "searched";
ScheduleSource schedule_source(std::string_view name);
bool is_file(ScheduleSource source);

// A name, a map, or a list of those. Names of files become paths from the current folder.
std::vector<ScheduleSpec> read_schedules(const Field& field);

// Puts those paths into what was read, so that it says the same wherever it stands.
void resolve_schedules(Value& schedules, const std::vector<ScheduleSpec>& specs);

std::vector<KeyRow> schedule_keys();

}  // namespace pipewright::config
