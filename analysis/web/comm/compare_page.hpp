#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "analysis/commlogs/pictures/curve_picture.hpp"
#include "analysis/commlogs/reports/compare_report.hpp"

namespace pipewright::analysis {

// Writes one self-contained HTML file: pictures of time and bus bandwidth, errors by curve and
// size, and the rows. The file appears under its name only once it is complete; a file that cannot
// be written throws trace::TraceError.
void write_compare_page(const std::filesystem::path& path, const CompareReport& report,
                        std::span<const DrawnCurve> curves, const CurveWords& words);

}  // namespace pipewright::analysis
