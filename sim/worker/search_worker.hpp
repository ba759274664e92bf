#pragma once

#include "sim/worker/worker_settings.hpp"

namespace pipewright::worker {

// Main function of a worker of a search, which answers the messages that a coordinator writes to
// its standard input (sim/search/messages.hpp), until that ends. Throws std::runtime_error when it
// cannot go on.
//
// SimGrid supports one cluster and one simulation per process. Each cluster therefore has a process
// that assesses candidates, and every simulation runs in a child of that process.
void serve_search(const WorkerSettings& settings);

}  // namespace pipewright::worker
