#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/mpi/messages.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::mpi {

// Function that starts one worker of a search, by its command.
using MakeWorker =
    std::function<std::unique_ptr<search::Workers>(const std::vector<std::string>& command)>;

// Seconds of silence that ranks accept from a coordinator without a Heartbeat, which sends nothing
// while it enumerates a large space or writes its results. A dead coordinator whose launcher does
// not end its ranks is rare.
inline constexpr double long_patience = 600;

// Runs a rank other than the first until it receives the message to end: starts a worker, and
// passes on messages between the coordinator and the worker. Returns whether to call MPI_Finalize,
// which might wait forever otherwise. Throws std::runtime_error if the coordinator is silent for
// `patience_s`.
bool serve_rank(Messages& messages, const MakeWorker& make_worker, double patience_s);

}  // namespace pipewright::mpi
