#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/commlogs/comparison.hpp"
#include "analysis/commlogs/pictures/curve_picture.hpp"

namespace pipewright::analysis {

// One operation over its sizes, as simulated and by a formula.
struct BenchCurve {
  std::vector<CurvePoint> simulated;  // Ordered by bytes.
  std::vector<CurvePoint> formula;
  double factor = 1;              // Ratio of bus bandwidth to algorithm bandwidth.
  std::optional<double> assumed;  // Assumed bus bandwidth, in bytes/s.
};

// Draws simulated times or bus bandwidths as a line with marks over the wide faint line of the
// formula, on logarithmic axes. The picture is `width` points wide; letters do not scale with it,
// so that a narrow picture can be read on a narrow screen. The curve must have at least one point.
std::string bench_picture(const BenchCurve& curve, CurveAxis axis, double width, PictureKind kind);

}  // namespace pipewright::analysis
