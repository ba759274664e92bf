#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/jobs/request/flags.hpp"
#include "sim/jobs/request/setting_table.hpp"

namespace pipewright::jobs {

// Names of all settings of a framework that are known.
struct SettingNames {
  // Other names for flags, or names that give keys of a scenario by themselves.
  std::vector<std::pair<std::string_view, std::string_view>> others;
  std::span<const Flag> flags;              // those that are used
  std::vector<const SettingTable*> unused;  // tables of those that are not; the own one first
};

}  // namespace pipewright::jobs
