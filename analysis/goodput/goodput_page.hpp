#pragma once

#include <filesystem>

#include "analysis/goodput/report.hpp"

namespace pipewright::analysis {

// All figures and both pictures in one file. Throws trace::TraceError if it cannot be written.
void write_goodput_page(const std::filesystem::path& path, const GoodputReport& report);

}  // namespace pipewright::analysis
