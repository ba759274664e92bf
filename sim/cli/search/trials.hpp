#pragma once

#include <cstddef>

#include "sim/search/robust.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::cli {

// Candidates under conditions, each simulated in a process of its own, so many at a time, under a
// progress bar. The space is to outlive them.
search::Trials local_trials(const search::Space& space, std::size_t jobs, bool quiet);

}  // namespace pipewright::cli
