#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/mpi/messages.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::mpi {

Messages& test_messages();  // the messages of this process

// Makes a worker that answers a line with the last word of the command, a space and the line. Some
// lines have an effect first: "crash" loses the worker, "die" kills the rank, "hang" suspends the
// rank for three seconds, and "wait" delays the answer by a second.
std::unique_ptr<search::Workers> make_test_worker(const std::vector<std::string>& command);

}  // namespace pipewright::mpi
