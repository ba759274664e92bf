#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/flags.hpp"
#include "sim/jobs/request/job_input.hpp"
#include "sim/jobs/request/launch_text.hpp"
#include "sim/jobs/request/setting_names.hpp"
#include "sim/jobs/request/sources.hpp"

// Reads and writes torchtitan's configuration (torchtitan/config): TOML, or the JSON that
// torchtitan dumps.
namespace pipewright::jobs::torchtitan {

bool recognise(const SourceText& file);

// Reads a configuration. A script among the files gives the number of GPUs.
Job read_job(const JobInput& input);
Launch write(const LaunchInput& input);

// Table of settings that are read or written, by their dotted names.
std::span<const Flag> flags();
// Settings that are known and not used.
const SettingTable& known_settings();
SettingNames setting_names();

// Reads the settings of a TOML or JSON file, with their dotted names.
std::vector<Setting> settings_of(const Source& source);
Job read(Request request);

// Gives settings of configurations before June 2025 their later names: sizes stood in [training]
// and [experimental] before the section [parallelism].
void rename_older(std::vector<Setting>& settings);

// Name of PyTorch's class for one of our schedules; empty if PyTorch lacks it.
std::string torch_schedule(std::string_view name);

}  // namespace pipewright::jobs::torchtitan
