#pragma once

#include "sim/jobs/request/job_input.hpp"
#include "sim/jobs/request/setting_names.hpp"
#include "sim/jobs/request/sources.hpp"

// Reads YAML of NeMo Automodel: recipes that train a model of Hugging Face with FSDP2.
namespace pipewright::jobs::automodel {

bool recognise(const SourceText& file);

Job read_job(const JobInput& input);

SettingNames setting_names();

}  // namespace pipewright::jobs::automodel
