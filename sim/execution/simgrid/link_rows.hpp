#pragma once

#include "analysis/trace/sink.hpp"
#include "sim/execution/flows/link_book.hpp"
#include "sim/execution/replica_groups.hpp"
#include "sim/execution/simgrid/wiring.hpp"

namespace pipewright::execution {

// Reports, after a run, the use of links (busiest first) and the paths of the first replica's
// traffic to the sink. Calls LinkBook::settle().
void report_links(const Job& job, const ReplicaGroups& replica_groups, Wiring& wiring,
                  LinkBook& book, trace::Sink& sink);

}  // namespace pipewright::execution
