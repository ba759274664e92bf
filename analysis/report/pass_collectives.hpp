#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/units_text.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Collectives of one kind within passes, over the whole run and all devices that call them. Their
// exposed seconds add up to a device's `in_passes`. Definitions: analysis/metrics.md.
struct PassCollectives {
  std::string group;        // "ep"
  std::string operation;    // "dispatch"
  std::uint64_t calls = 0;  // per GPU, maximum over devices
  std::uint64_t bytes = 0;  // per GPU, maximum over devices
  Range seconds;
  Range exposed_s;
};

// Combines the rows of all devices for each kind of collective: the most calls and bytes of any
// device, and the ranges of the seconds. Kinds are in order of first appearance.
std::vector<PassCollectives> over_devices(std::span<const trace::PassCollectiveRow> rows);

}  // namespace pipewright::analysis
