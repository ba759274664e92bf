#include "sim/jobs/request/settings_writer.hpp"

#include <algorithm>

namespace pipewright::jobs {

bool SettingsWriter::has(std::string_view name) const {
  return std::ranges::find(settings, name, &Setting::name) != settings.end();
}

void SettingsWriter::remove(std::initializer_list<std::string_view> names) {
  std::erase_if(settings, [&](const Setting& setting) {
    return std::ranges::find(names, std::string_view(setting.name)) != names.end();
  });
}

}  // namespace pipewright::jobs
