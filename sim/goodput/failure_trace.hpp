#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "sim/config/goodput.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// Reads recorded failures from a .json of fault_events.hpp or from a .csv whose heading names the
// columns:
//
//   time,kind,node,nodes,repair
//   3.2 h,gpu,host-17,1,24 h
//
// `time` counts from the start of training, with a unit or in seconds. Missing columns have the
// defaults of failures in `goodput`; the default kind is node. The result is in order of time.
// Throws config::Error with file and line.
std::vector<TracedFailure> read_failure_trace(const std::filesystem::path& file,
                                              const config::Goodput& goodput, std::uint32_t nodes);

}  // namespace pipewright::goodput
