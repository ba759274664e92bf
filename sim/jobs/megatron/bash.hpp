#pragma once

#include <span>

#include "sim/jobs/request/job.hpp"
#include "sim/jobs/request/sources.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {

// Runs the scripts by bash in a sandbox, in which every program that is no plain tool is replaced
// by a recorder of its words. Adds the recorded commands to a script that has the variables of the
// command line. Words have no line.
void run_with_bash(std::span<const Source> sources, const JobWords& words, Script& script);

}  // namespace pipewright::jobs
