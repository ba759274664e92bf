#pragma once

#include <filesystem>
#include <span>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Writes one HTML file that needs nothing else: the figures of a run, or of several with their
// differences; for each a timeline that zooms and pans, the memory of its devices and the use of
// its links, all on a common time axis; then why it takes its time, and tables. The file appears
// under its name once it is whole; one that cannot be written is a TraceError.
void write_page(std::span<const trace::Trace> runs, const std::filesystem::path& file);

}  // namespace pipewright::analysis
