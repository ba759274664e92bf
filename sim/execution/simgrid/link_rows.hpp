#pragma once

#include "analysis/trace/sink.hpp"
#include "sim/execution/flows/link_book.hpp"
#include "sim/execution/replica_groups.hpp"
#include "sim/execution/simgrid/wiring.hpp"

namespace pipewright::execution {

// After a run: tells the sink what links did, the busiest first, and which ways the first replica's
// traffic goes. Closes the book.
void report_links(const Job& job, const ReplicaGroups& replica_groups, Wiring& wiring,
                  LinkBook& book, trace::Sink& sink);

}  // namespace pipewright::execution
