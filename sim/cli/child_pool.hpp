#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "sim/search/child.hpp"

namespace pipewright::cli {

using search::Body;
using search::Said;

// Runs each body in a process of its own, `jobs` at a time: SimGrid has one engine a process. Calls
// `done` with the number of those that have ended, now and then. Throws Interrupted.
std::vector<Said> run_in_children(const std::vector<Body>& bodies, std::size_t jobs,
                                  const std::function<void(std::size_t)>& done);

}  // namespace pipewright::cli
