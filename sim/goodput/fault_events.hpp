#pragma once

#include <filesystem>
#include <vector>

#include "sim/config/goodput.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// Reads node faults of a cluster from the event format of InfiniteHBD's trace (arXiv 2502.03885), a
// .json:
//
//   [{"node_id": "067e..", "event_time": 8.6112, "event_type": "fault_start",
//     "fault_type": {"Level": "Hardware Failure", "Class": "GPU", "Desc": ".."}}, ...]
//
// Times are days since the first event, in order. "fault_end" marks the repair of a node. A fault
// of a node that is already out extends its repair. Throws config::Error with file and line.
std::vector<TracedFailure> read_fault_events(const std::filesystem::path& file,
                                             const config::Goodput& goodput);

}  // namespace pipewright::goodput
