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

// What was measured as dots, hollow where a row was not fitted to, what is predicted as lines, over
// the size on logarithmic axes; with a band in which errors are at most 20 %, and the errors
// themselves below. Up to eight curves share a panel; more get panels below one another, which do
// not mix operations. Rows of 0 bytes are left out. The file's bytes, equal for equal input.
std::string curve_picture(std::span<const DrawnCurve> curves, const CurveWords& words,
                          CurveAxis axis, PictureKind kind);

// Like draw_timeline in all else.
void draw_curves(std::span<const DrawnCurve> curves, const CurveWords& words, CurveAxis axis,
                 const std::filesystem::path& file, PictureKind kind);

}  // namespace pipewright::analysis
