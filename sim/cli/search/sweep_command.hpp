#pragma once

#include <functional>
#include <memory>

#include "sim/cli/commands.hpp"
#include "sim/cli/search/sweep_options.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::cli {

// Starts those who evaluate candidates. A handshake comes later.
using MakeWorkers = std::function<std::unique_ptr<search::Workers>(const WorkerSettings&)>;

// `pipewright search`, whoever the workers are. Needs no SimGrid. Returns an exit status; throws
// what a user can cause, and Interrupted once the results so far are written.
int sweep_command(const Arguments& arguments, const MakeWorkers& make_workers);

}  // namespace pipewright::cli
