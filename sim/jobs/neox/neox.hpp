#pragma once

#include "sim/jobs/request/job_input.hpp"
#include "sim/jobs/request/setting_names.hpp"
#include "sim/jobs/request/sources.hpp"

// Reads GPT-NeoX's YAML. Its files are read one after the other, as by its launcher. A job often
// has a file of the model and a file of the machine.
namespace pipewright::jobs::neox {

bool recognise(const SourceText& file);

Job read_job(const JobInput& input);

SettingNames setting_names();

}  // namespace pipewright::jobs::neox
