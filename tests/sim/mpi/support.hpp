#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/mpi/messages.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::mpi {

Messages& test_messages();  // of this process

// A worker that answers a line with the last word of the command, a space and the line, after what
// the line says: "crash" (the worker is lost), "die" (the rank is killed), "hang" (the rank stands
// still for three seconds), "wait" (the answer comes after a second).
std::unique_ptr<search::Workers> make_test_worker(const std::vector<std::string>& command);

}  // namespace pipewright::mpi
