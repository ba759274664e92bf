#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "analysis/commlogs/pictures/curve_picture.hpp"
#include "analysis/commlogs/reports/compare_report.hpp"

namespace pipewright::analysis {

// Writes one HTML file that needs nothing else: the pictures of time and bus bandwidth, errors by
// curve and size, and the rows. The file appears under its name once it is whole; one that cannot
// be written is a trace::TraceError.
void write_compare_page(const std::filesystem::path& path, const CompareReport& report,
                        std::span<const DrawnCurve> curves, const CurveWords& words);

}  // namespace pipewright::analysis
