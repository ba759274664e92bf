#pragma once

#include <filesystem>
#include <vector>

#include "sim/config/goodput.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// Faults of a cluster's nodes as events, the .json of InfiniteHBD's trace (arXiv 2502.03885):
//
//   [{"node_id": "067e..", "event_time": 8.6112, "event_type": "fault_start",
//     "fault_type": {"Level": "Hardware Failure", "Class": "GPU", "Desc": ".."}}, ...]
//
// with days since the first, in order, and "fault_end" once the node is repaired. A fault of a node
// that is out already makes its repair longer. Throws config::Error with the file and its line.
std::vector<TracedFailure> read_fault_events(const std::filesystem::path& file,
                                             const config::Goodput& goodput);

}  // namespace pipewright::goodput
