#include "sim/config/command_sections.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace pipewright::config {

const CommandSection* command_section_of(std::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const auto* const section =
      std::ranges::find(command_sections, key.substr(0, dot), &CommandSection::name);
  return section == command_sections.end() ? nullptr : section;
}

Field section_of(const Scenario& scenario, std::string_view name, std::string_view advice) {
  const Value* const section = find(scenario.tree, name);
  if (section == nullptr)
    throw Error({.source = scenario.title}, fmt::format("the scenario has no section {}", name))
        .suggest(std::string(advice));
  return {*section, std::string(name)};
}

void check_single_run(const Scenario& scenario, std::string_view study) {
  if (!scenario.model)
    throw Error({.source = scenario.title}, fmt::format("{} needs a model", study))
        .suggest("give a model, such as model: llama-3-8b");
  if (scenario.schedules.size() > 1)
    throw Error(scenario.schedules[1].origin,
                fmt::format("{} has one schedule, and the scenario has {}", study,
                            scenario.schedules.size()))
        .suggest("name one: --schedule 1f1b");
}

}  // namespace pipewright::config
