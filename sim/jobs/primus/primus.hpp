#pragma once

#include "sim/jobs/request/job_input.hpp"
#include "sim/jobs/request/sources.hpp"

// Reads configurations of Primus: YAML that names a framework below Primus, a file of its package
// with the model, and the settings of that framework that the job overrides.
namespace pipewright::jobs::primus {

bool recognise(const SourceText& file);

// Reads a configuration for Megatron-LM or torchtitan. Files of the package are looked for in the
// folders above the configuration, and in the folder that the variable PRIMUS names. Without them,
// the model is that of the library with the same name, and other settings have the values of the
// package's pre_trainer.yaml.
Job read_job(const JobInput& input);

}  // namespace pipewright::jobs::primus
