#pragma once

#include <cstddef>
#include <functional>

#include "sim/search/robust.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::worker {

// Callback that is called often during a set of runs, with the number of finished runs and of all
// runs.
using WatchRuns = std::function<void(std::size_t finished, std::size_t total)>;

// Makes the callback for a set of runs. The callback is destroyed when the runs have ended.
using MakeWatchRuns = std::function<WatchRuns()>;

// Returns functions that simulate candidates under changed conditions, each in a child process,
// `jobs` at a time. The space must outlive them.
search::WhatIfRuns make_what_if_runs(const search::Space& space, std::size_t jobs,
                                     const MakeWatchRuns& make_watch);

}  // namespace pipewright::worker
