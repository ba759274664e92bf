#pragma once

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/request/job.hpp"
#include "sim/jobs/request/sources.hpp"

namespace pipewright::jobs {

// Reads a YAML file of a job. Replaces the variables in its texts: ${NAME}, ${NAME:default} and
// ${NAME:-default}, as Primus and envsubst do. A value of the command line replaces the default.
// Variables without value become unknowns, as in scripts, so that settings that need them name the
// variable. Other references, such as ${oc.env:NAME} and ${section.key}, stay.
config::Value read_yaml(const Source& source, const config::Document& document,
                        const JobWords& words);

}  // namespace pipewright::jobs
