#pragma once

#include "analysis/trace/sink.hpp"
#include "sim/execution/flows/link_book.hpp"
#include "sim/execution/replica_groups.hpp"
#include "sim/execution/simgrid/wiring.hpp"

namespace pipewright::execution {

// Reports the use of links to the sink after a run, busiest first, and the paths of the first
// replica's traffic. Settles the book.
void report_links(const Job& job, const ReplicaGroups& replica_groups, Wiring& wiring,
                  LinkBook& book, trace::Sink& sink);

}  // namespace pipewright::execution
