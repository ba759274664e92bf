#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace pipewright::analysis {

// A logarithmic axis: from values, which are above 0, to places on the page.
struct LogScale {
  double from, to;    // of the values
  double start, end;  // on the page

  double operator()(double value) const {
    return start + std::log(value / from) / std::log(to / from) * (end - start);
  }
};

struct LogTick {
  double value;
  std::string label;  // empty: a line without one
};

// Bytes, at powers of 2, a number of doublings apart that leaves at most `most` labels.
std::vector<LogTick> size_ticks(const LogScale& scale, int most);
// Seconds ("10 us"), or bytes/s ("20 GB/s"), at powers of 10, and at 2 and 5 times these, which
// have labels where there are few decades; more within one.
std::vector<LogTick> second_ticks(const LogScale& scale);
std::vector<LogTick> bandwidth_ticks(const LogScale& scale);

}  // namespace pipewright::analysis
