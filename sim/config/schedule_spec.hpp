#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/fields.hpp"
#include "sim/config/keys.hpp"

namespace pipewright::config {

// A schedule as asked for. Whether the name exists, and what it takes, the catalog knows.
struct ScheduleSpec {
  std::string name;
  std::optional<Located<std::uint32_t>> chunks;
  std::optional<Located<std::uint32_t>> group_size;
  std::optional<Located<std::uint32_t>> slices;
  std::optional<Located<std::uint32_t>> recompute;
  Origin origin;
};

// A name, a map, or a list of those.
std::vector<ScheduleSpec> read_schedules(const Field& field);

std::vector<KeyInfo> schedule_keys();

}  // namespace pipewright::config
