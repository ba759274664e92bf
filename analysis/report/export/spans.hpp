#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Rounds to whole nanoseconds, the resolution of trace viewers. Rounding starts and ends alike
// keeps consecutive spans apart and nested spans nested.
inline std::int64_t nanoseconds(double seconds) {
  constexpr double limit = 9e18;  // 285 years
  return std::llround(std::clamp(seconds * 1e9, -limit, limit));
}

struct Span {
  std::int64_t start = 0;  // Times are in nanoseconds.
  std::int64_t end = 0;
  std::int64_t released = 0;

  std::int64_t duration() const { return end - start; }
};

// Turns the passes of each device into spans that do not overlap, except for fused passes, which
// have equal spans. A trace may overlap passes by its tolerance, which is a nanosecond.
class PassSpans {
 public:
  explicit PassSpans(std::size_t devices) : last_spans_(devices) {}
  Span next(const trace::PassRow& pass);

 private:
  std::vector<Span> last_spans_;
};

// Distributes spans over lanes in which they do not overlap: each goes to the lane that ended last
// before it, or to a new one. For spans ordered by start, or by end, the number of lanes is
// minimal. Only the end of each lane is stored.
class Lanes {
 public:
  std::uint32_t place(std::int64_t start, std::int64_t end) {
    auto position = lane_by_end_.upper_bound(start);
    std::uint32_t lane = static_cast<std::uint32_t>(lane_by_end_.size());
    if (position != lane_by_end_.begin()) {
      --position;
      lane = position->second;
      lane_by_end_.erase(position);
    }
    lane_by_end_.emplace(end, lane);
    return lane;
  }

 private:
  std::multimap<std::int64_t, std::uint32_t> lane_by_end_;
};

// The pass that produces a boundary tensor, and the pass on another device that consumes it.
struct Handover {
  trace::TransferKind kind;
  std::uint32_t from;  // Devices.
  std::uint32_t to;
  Span producer;
  Span consumer;
};

// Matches producers and consumers as passes arrive. Only passes whose counterpart is still missing
// are stored, which are those in flight if the trace is in an engine's order.
class Handovers {
 public:
  explicit Handovers(const std::vector<trace::StageRow>& stages);

  std::optional<Handover> produced(const trace::PassRow& pass, const Span& span);
  std::optional<Handover> consumed(const trace::PassRow& pass, const Span& span);

 private:
  struct Side {
    bool produces;
    std::uint32_t device;
    Span span;
  };
  std::optional<Handover> match(trace::TransferKind kind, std::uint32_t stage,
                                std::uint32_t microbatch, const Side& side);

  std::uint32_t stages_ = 0;
  std::unordered_map<std::uint64_t, Side> waiting_;
};

}  // namespace pipewright::analysis
