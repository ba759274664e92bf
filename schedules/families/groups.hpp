#pragma once

#include <cstdint>
#include <string>

#include "schedules/catalog.hpp"
#include "schedules/families/one_by_one.hpp"

namespace pipewright::schedules {

// Where a device stands.
struct Place {
  std::uint32_t before = 0;          // devices
  std::uint32_t after = 0;           // devices
  std::uint32_t earlier_chunks = 0;  // forwards of the first group on all its chunks but the last
};

using PaceOf = Pace (*)(const Place& place);

// The schedules of the looped placement in which a group of microbatches passes chunk after chunk
// and the order of all passes follows from each device's pace. Takes chunks and a group size; the
// smallest group that fits is the default. Throws Error for a group that would deadlock or stall.
Schedule in_groups(std::string name, const Parameters& parameters, std::uint32_t default_chunks,
                   PaceOf pace_of);

}  // namespace pipewright::schedules
