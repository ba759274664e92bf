#pragma once

#include <span>
#include <string_view>

#include "sim/jobs/request/job_input.hpp"
#include "sim/jobs/request/launch_text.hpp"
#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/setting_names.hpp"
#include "sim/jobs/request/sources.hpp"

// Reads and writes jobs of DeepSpeed: its JSON configuration, and scripts with the flags of
// Megatron-DeepSpeed.
namespace pipewright::jobs::deepspeed {

// True for a JSON configuration of DeepSpeed, or a script that may start DeepSpeed.
bool recognise(const SourceText& file);

// Reads scripts and JSON configurations; a script may contain the JSON as a here-document. Scripts
// that turn out not to start DeepSpeed are read as Megatron-LM's.
Job read_job(const JobInput& input);

Launch write(const LaunchInput& input);

// Keys of the JSON, by their dotted names, that are known and not used.
const SettingTable& known_settings();

// Key of the JSON that means the same as a flag of Megatron-LM.
struct ConfigAlias {
  std::string_view key;  // dotted key of the JSON
  std::string_view flag;
};
std::span<const ConfigAlias> config_aliases();
SettingNames setting_names();

// Adds the settings of a JSON configuration to a request, with Megatron-LM's names where these mean
// the same.
void read_config(const Source& source, Request& request);

// Derives the global batch from accumulation steps, and the number of GPUs from the global batch.
// Throws config::Error if sizes of script and JSON contradict each other.
void settle(Request& request);

}  // namespace pipewright::jobs::deepspeed
