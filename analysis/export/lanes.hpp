#pragma once

#include <cstdint>
#include <map>

namespace pipewright::analysis {

// Puts spans that may overlap into lanes in which they do not: each into the lane that ended last
// before it, or else a new one. Of spans in order of their starts, or of their ends, no fewer lanes
// would do. Remembers the end of each lane and nothing else.
class Lanes {
 public:
  std::uint32_t place(std::int64_t start, std::int64_t end) {
    auto after = lane_by_end_.upper_bound(start);
    std::uint32_t lane = static_cast<std::uint32_t>(lane_by_end_.size());
    if (after != lane_by_end_.begin()) {
      --after;
      lane = after->second;
      lane_by_end_.erase(after);
    }
    lane_by_end_.emplace(end, lane);
    return lane;
  }

 private:
  std::multimap<std::int64_t, std::uint32_t> lane_by_end_;
};

}  // namespace pipewright::analysis
