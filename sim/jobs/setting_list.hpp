#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/request/setting_names.hpp"

namespace pipewright::jobs {

// Use of a setting of a framework.
struct SettingUse {
  std::string name;
  std::string_view list;  // "used", "without effect", "not modelled" or "unknown"
  std::string text;       // the scenario's key, the reason, or what the setting would change
};

// Looks up a setting by its name, as in "lr", "use-sharp" or "model.tensor_model_parallel_size".
SettingUse use_of(const SettingNames& names, std::string_view name);
// All settings of a framework's tables, in alphabetical order.
std::vector<SettingUse> uses_of(const SettingNames& names);

}  // namespace pipewright::jobs
