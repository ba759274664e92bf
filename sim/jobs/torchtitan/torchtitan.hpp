#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/flags.hpp"
#include "sim/jobs/request/launch_text.hpp"
#include "sim/jobs/request/sources.hpp"

// torchtitan's configuration (torchtitan/config): TOML, or dumped as JSON.
namespace pipewright::jobs::torchtitan {

std::span<const Flag> flags();
bool has_no_effect(const std::string& name);

// Settings by dotted names of a TOML or JSON file.
std::vector<Setting> settings_of(const Source& source);
Job read(Request request);
Launch write(const config::Scenario& scenario, const schedules::Schedule* planned);

// PyTorch's name of a schedule of ours, and back; empty where there is none.
std::string torch_schedule(std::string_view name);

}  // namespace pipewright::jobs::torchtitan
