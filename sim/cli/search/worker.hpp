#pragma once

#include "sim/cli/search/sweep_options.hpp"

namespace pipewright::cli {

// A worker of a search. Answers what a coordinator writes to its standard input, line by line
// (sim/search/handshake.hpp, task.hpp), until that ends. Returns an exit status; throws
// std::runtime_error when it cannot go on.
//
// SimGrid knows one cluster a process and cannot forget what it simulated. So each cluster has a
// process that assesses there, and every simulation a child of that one.
int serve_search(const WorkerSettings& settings);

}  // namespace pipewright::cli
