#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "analysis/commlogs/comparison.hpp"
#include "analysis/report/picture/pictures.hpp"

namespace pipewright::analysis {

enum class CurveAxis : std::uint8_t { time, bus_bandwidth };

struct CurveWords {
  std::string title;
  std::string details;
};

// Returns a picture of times or bus bandwidths over sizes, on logarithmic axes: measurements as
// dots, hollow if a row was held out from a fit, and predictions as lines. A band shows errors of
// at most 20 %, and a panel below shows the errors themselves. Up to eight curves share a panel;
// further curves get panels of their own, which do not mix operations. Rows of 0 bytes are left
// out. Equal input gives equal bytes.
std::string curve_picture(std::span<const DrawnCurve> curves, const CurveWords& words,
                          CurveAxis axis, PictureKind kind);

// Writes the picture to a file, with the guarantees of draw_timeline().
void draw_curves(std::span<const DrawnCurve> curves, const CurveWords& words, CurveAxis axis,
                 const std::filesystem::path& file, PictureKind kind);

}  // namespace pipewright::analysis
