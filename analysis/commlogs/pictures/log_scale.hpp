#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace pipewright::analysis {

// A logarithmic axis, which maps values above 0 to positions on the page.
struct LogScale {
  double from, to;    // Range of values.
  double start, end;  // Range on the page.

  double operator()(double value) const {
    return start + std::log(value / from) / std::log(to / from) * (end - start);
  }
};

struct LogTick {
  double value;
  std::string label;  // Empty for a grid line without a label.
};

// Returns ticks at powers of 2, as many doublings apart as at most `max_labels` labels need. Values
// are bytes.
std::vector<LogTick> size_ticks(const LogScale& scale, int max_labels);
// Returns ticks in seconds ("10 us") or bytes/s ("20 GB/s") at powers of 10 and at 2 and 5 times
// these. The latter have labels only if there are few decades. An axis within one decade has
// further ticks.
std::vector<LogTick> second_ticks(const LogScale& scale);
std::vector<LogTick> bandwidth_ticks(const LogScale& scale);

}  // namespace pipewright::analysis
