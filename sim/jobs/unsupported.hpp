#pragma once

#include "sim/jobs/request/sources.hpp"

namespace pipewright::jobs {

// Throws config::Error if a file is a configuration of a framework whose jobs are not read. The
// error suggests how to describe the job by a scenario.
void check_supported(const Source& source);

}  // namespace pipewright::jobs
