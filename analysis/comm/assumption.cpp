#include "analysis/comm/assumption.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::analysis {
namespace {

int side(double ratio) { return ratio > 1 + tolerated ? 1 : ratio < 1 - tolerated ? -1 : 0; }

std::vector<OffRange> off_ranges(const ComparedCurve& curve, double assumed, bool measured) {
  std::vector<OffRange> ranges;
  int before = 0;
  for (const ComparedRow& row : curve.rows) {
    const double actual =
        bus_bandwidth(row.measured, measured ? row.measured.seconds : row.predicted);
    const double ratio = assumed / actual;  // infinite where there is no bandwidth
    const int now = side(ratio);
    if (now != 0 && now != before)
      ranges.push_back({row.measured.bytes, row.measured.bytes, 0, ratio, ratio});
    if (now != 0) {
      OffRange& range = ranges.back();
      range.to = row.measured.bytes;
      ++range.rows;
      range.least = std::min(range.least, ratio);
      range.most = std::max(range.most, ratio);
    }
    before = now;
  }
  return ranges;
}

}  // namespace

double bus_bandwidth(const Measurement& row, double seconds) {
  return algorithm_bandwidth(row.bytes, seconds) * bus_factor(row.operation, row.ranks);
}

AssumptionCheck check_assumption(const ComparedCurve& curve, double bus_bandwidth) {
  return {off_ranges(curve, bus_bandwidth, true), off_ranges(curve, bus_bandwidth, false)};
}

}  // namespace pipewright::analysis
