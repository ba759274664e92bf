#pragma once

#include "sim/config/text/value.hpp"
#include "sim/jobs/request/job.hpp"

namespace pipewright::jobs {

// Replaces the variables in the texts of a tree: ${NAME}, ${NAME:default} and ${NAME:-default}, as
// Primus and envsubst do. A value of the command line replaces the default. Variables without value
// become unknowns, as in scripts, so that settings that need them name the variable. Other
// references, such as ${oc.env:NAME} and ${section.key}, stay.
void substitute_environment(config::Value& tree, const JobWords& words);

}  // namespace pipewright::jobs
