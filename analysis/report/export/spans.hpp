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

// Viewers of traces keep times as whole nanoseconds. Rounding to them here, starts and ends alike,
// keeps what follows one another apart, and what is nested nested.
inline std::int64_t nanoseconds(double s) {
  constexpr double most = 9e18;  // 285 years
  return std::llround(std::clamp(s * 1e9, -most, most));
}

struct Span {
  std::int64_t start = 0;  // nanoseconds
  std::int64_t end = 0;
  std::int64_t released = 0;

  std::int64_t duration() const { return end - start; }
};

// The passes of each device as spans that do not overlap, but for those that run as one and are
// equal. A trace may overlap them by as little as its own tolerance, which is a nanosecond.
class PassSpans {
 public:
  explicit PassSpans(std::size_t devices) : last_(devices) {}
  Span next(const trace::PassRow& pass);

 private:
  std::vector<Span> last_;
};

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

// The pass that makes a boundary tensor and the pass on another device that takes it in.
struct Handover {
  trace::TransferKind kind;
  std::uint32_t from;  // device
  std::uint32_t to;
  Span producer;
  Span consumer;
};

// Matches passes as they come. It remembers those whose counterpart is still to come: of a trace in
// the order of an engine, what is in flight.
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
