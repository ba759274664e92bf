#pragma once

#include <filesystem>

#include "analysis/commlogs/reports/bench_report.hpp"

namespace pipewright::analysis {

// Writes one HTML file that needs nothing else: what was simulated on which cluster, the pictures
// of bus bandwidth and time over sizes where there are several, and the table. The file appears
// under its name once it is whole; one that cannot be written is a trace::TraceError.
void write_bench_page(const std::filesystem::path& path, const BenchReport& report);

}  // namespace pipewright::analysis
