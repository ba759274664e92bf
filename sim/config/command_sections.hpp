#pragma once

#include <array>
#include <string_view>

#include "sim/config/scenario.hpp"
#include "sim/config/text/fields.hpp"

// Sections of a scenario that a single command reads.
namespace pipewright::config {

struct CommandSection {
  std::string_view name;        // name of the section and of the command
  bool changes_search = false;  // its keys change figures of a search
};

inline constexpr std::array command_sections{CommandSection{"goodput", true}, CommandSection{"rl"},
                                             CommandSection{"sites"}};

// Returns the section of a dotted key; null if the key is in none of these sections.
const CommandSection* command_section_of(std::string_view key);

// Returns a section of a scenario. Throws an Error that suggests `advice` if there is none.
Field section_of(const Scenario& scenario, std::string_view name, std::string_view advice);

// Throws an Error if a scenario has no model, or several schedules. `study` names the purpose, such
// as "training over sites".
void check_single_run(const Scenario& scenario, std::string_view study);

}  // namespace pipewright::config
