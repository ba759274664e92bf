#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/units_text.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Collectives of one kind within passes, over the whole run and the devices that have them. What of
// them is exposed adds up to `in_passes` of a device's time. Definitions: analysis/metrics.md.
struct PassCollectives {
  std::string group;        // "ep"
  std::string operation;    // "dispatch"
  std::uint64_t calls = 0;  // of one GPU of the device that has most
  std::uint64_t bytes = 0;  // likewise
  Range seconds;
  Range exposed_s;
};

// In the order in which rows first name them.
std::vector<PassCollectives> over_devices(std::span<const trace::PassCollectiveRow> rows);

}  // namespace pipewright::analysis
