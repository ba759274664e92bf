#pragma once

#include <span>

#include "sim/jobs/request/job.hpp"
#include "sim/jobs/request/sources.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {

// Runs the scripts by bash in a sandbox, in which every program that is no plain tool is replaced
// by a recorder of its words. Returns the recorded commands. Words have no line.
Script run_with_bash(std::span<const Source> sources, const JobWords& words);

}  // namespace pipewright::jobs
