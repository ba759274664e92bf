#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/mpi/messages.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::mpi {

// One worker, which serves a search with the command.
using MakeWorker =
    std::function<std::unique_ptr<search::Workers>(const std::vector<std::string>& command)>;

// Of a coordinator without a Heartbeat: one that enumerates a large space or writes its results
// says nothing meanwhile; that it is dead and nobody ends its ranks, is rare.
inline constexpr double long_patience = 600;  // seconds

// What every rank but the first does until it is told to end: it has a worker, and passes on what
// the coordinator and the worker say to each other. Whether MPI_Finalize is to follow; else it
// might wait forever. Throws std::runtime_error if the coordinator is silent for so many seconds.
bool serve_rank(Messages& messages, const MakeWorker& make_worker, double patience_s);

}  // namespace pipewright::mpi
