#pragma once

#include "sim/jobs/request/sources.hpp"

namespace pipewright::jobs {

// Throws config::Error, with the way to predict the job nevertheless, if a file is a configuration
// of a framework whose jobs are not read.
void check_supported(const Source& source);

}  // namespace pipewright::jobs
