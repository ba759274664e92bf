#pragma once

#include <cstddef>
#include <functional>

#include "sim/search/robust.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::worker {

// Receives the number of finished runs and of all runs, often. May throw to end the runs.
using WatchRuns = std::function<void(std::size_t finished, std::size_t total)>;

// Makes the watch of a set of runs, which is destroyed when they have ended.
using MakeWatchRuns = std::function<WatchRuns()>;

// Simulates candidates under changed conditions, each in a child process, `jobs` at a time. The
// space must outlive the result.
search::WhatIfRuns make_what_if_runs(const search::Space& space, std::size_t jobs,
                                     const MakeWatchRuns& make_watch);

}  // namespace pipewright::worker
