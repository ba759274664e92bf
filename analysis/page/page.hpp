#pragma once

#include <filesystem>
#include <span>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Writes one HTML file that needs nothing else: a table of the runs and, for each, a timeline that
// zooms and pans, with the memory of its devices below, all on a common time axis. The file appears
// under its name once it is whole; one that cannot be written is a TraceError.
void write_page(std::span<const trace::Trace> runs, const std::filesystem::path& file);

}  // namespace pipewright::analysis
