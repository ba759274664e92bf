#pragma once

#include <string>

#include "analysis/goodput/report.hpp"
#include "analysis/palette.hpp"

namespace pipewright::analysis {

// The days of one run, a row each, or of several where there are many: what the job did when, and
// how much of the row lasts. The file's bytes.
std::string days_picture(const GoodputReport& report, double width, PictureKind kind);

// Effective training time over the interval between checkpoints, with the formulas' intervals.
std::string interval_picture(const GoodputReport& report, double width, PictureKind kind);

Colour colour_of(GoodputPart part);

}  // namespace pipewright::analysis
