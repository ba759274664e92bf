#pragma once

#include <cstddef>

#include "sim/search/robust.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::cli {

// Simulates candidates under changed conditions, each in a child process, `jobs` at a time, and
// shows a progress bar. The space must outlive the result.
search::WhatIfRuns local_what_if_runs(const search::Space& space, std::size_t jobs, bool quiet);

}  // namespace pipewright::cli
