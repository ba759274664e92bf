#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "sim/config/goodput.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// Failures that did happen, of a .json of fault_events.hpp or a .csv with a heading that names the
// columns:
//
//   time,kind,node,nodes,repair
//   3.2 h,gpu,host-17,1,24 h
//
// `time` is from the start of training, with a unit or in seconds; what else is left out is as for
// other failures, kind node. In order of time. Throws config::Error with the file and its line.
std::vector<TracedFailure> read_failure_trace(const std::filesystem::path& file,
                                              const config::Goodput& goodput, std::uint32_t nodes);

}  // namespace pipewright::goodput
