#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// What a link carried in a whole run.
struct LinkTotals {
  std::array<std::uint64_t, trace::traffic_classes> bytes{};
  double mean_use = 0;  // bytes / (bandwidth * makespan)
  std::optional<double>
      peak_use;         // the same of the fullest piece of time, where the trace has them
  double waited_s = 0;  // flow seconds by which flows took longer as they shared it
};

// Of each of the trace's links.
std::vector<LinkTotals> link_totals(const trace::Trace& trace, double makespan_s);

}  // namespace pipewright::analysis
