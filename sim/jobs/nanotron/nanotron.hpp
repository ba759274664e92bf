#pragma once

#include "sim/jobs/request/job_input.hpp"
#include "sim/jobs/request/setting_names.hpp"
#include "sim/jobs/request/sources.hpp"

// Reads nanotron's YAML of models with the shape of Llama, with or without experts.
namespace pipewright::jobs::nanotron {

bool recognise(const SourceText& file);

Job read_job(const JobInput& input);

SettingNames setting_names();

}  // namespace pipewright::jobs::nanotron
