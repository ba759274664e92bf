#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/pass_times.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::cli {

// One list of a scenario's pass times, in the scenario's order.
struct TimeList {
  std::string key;                    // "forward_times"
  std::vector<double> seconds;        // medians
  std::vector<std::string> comments;  // how many passes, and how far apart they are
};

// The lists that a scenario takes: one time a device, or a stage where devices have several. Where
// a backward was measured in halves, the whole ones count half each. Throws trace::TraceError where
// a stage lacks a kind of pass.
std::vector<TimeList> time_lists(const trace::Trace& trace,
                                 const std::vector<analysis::PassTime>& times);

// "18.5 ms", exact to the picosecond.
std::string time_text(double seconds);

std::string yaml_text(const TimeList& list);

}  // namespace pipewright::cli
