#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/commlogs/comparison.hpp"
#include "analysis/commlogs/pictures/curve_picture.hpp"

namespace pipewright::analysis {

// One operation over sizes, as simulated and by a formula.
struct BenchCurve {
  std::vector<CurvePoint> simulated;  // by bytes
  std::vector<CurvePoint> formula;
  double factor = 1;              // of the bus bandwidth, over the algorithm's
  std::optional<double> assumed;  // bus bandwidth, bytes/s
};

// Simulated times or bus bandwidths as a line with marks, those of the formula as a wide faint line
// below it, on logarithmic axes. It is `width` points wide: letters keep their size, so that a
// narrow one can be read on a narrow screen. There is a point at least.
std::string bench_picture(const BenchCurve& curve, CurveAxis axis, double width, PictureKind kind);

}  // namespace pipewright::analysis
