#pragma once

#include <cstdint>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

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

}  // namespace pipewright::analysis
