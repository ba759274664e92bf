#pragma once

#include <string>

#include "sim/config/communication.hpp"
#include "sim/config/parallel.hpp"
#include "sim/execution/collectives/places.hpp"
#include "sim/workload/ranks.hpp"

namespace pipewright::cli {

// A table of the kinds of groups that have more than one rank: how many there are, over which
// classes of links they talk, and, for what they typically say, the algorithm and the time that it
// takes when all of them do so at once. `ties_embeddings`: the first and the last stage share one.
std::string groups_table(const config::Parallel& parallel, bool ties_embeddings,
                         const config::Communication& communication, const workload::Ranks& ranks,
                         cluster::Cluster& cluster, const execution::Places& places);

}  // namespace pipewright::cli
