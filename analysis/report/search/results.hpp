#pragma once

#include <filesystem>

#include "analysis/report/search/rows.hpp"

// The results of a search as an HDF5 file, which format.md describes.
namespace pipewright::analysis {

// Writes the results; the rows must be in order of candidates. The file appears under its name once
// it is complete. Throws trace::TraceError.
void write_results(const std::filesystem::path& path, const SearchRun& run);

// Reads results, whose notes were cut after `max_note_bytes`. Throws trace::TraceError, which names
// the file and its fault.
SearchRun read_results(const std::filesystem::path& path);

inline constexpr std::size_t max_note_bytes = 1000;

}  // namespace pipewright::analysis
