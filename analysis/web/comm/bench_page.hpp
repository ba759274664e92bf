#pragma once

#include <filesystem>

#include "analysis/commlogs/reports/bench_report.hpp"

namespace pipewright::analysis {

// Writes one self-contained HTML file: the operation and its cluster, pictures of bus bandwidth and
// time if there are several sizes, and the table. The file appears under its name only once it is
// complete; a file that cannot be written throws trace::TraceError.
void write_bench_page(const std::filesystem::path& path, const BenchReport& report);

}  // namespace pipewright::analysis
