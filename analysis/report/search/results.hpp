#pragma once

#include <filesystem>

#include "analysis/report/search/rows.hpp"

// The results of a search as an HDF5 file; format.md says what is in it.
namespace pipewright::analysis {

// Rows are in order of candidates. The file appears under its name once it is whole. Throws
// trace::TraceError.
void write_results(const std::filesystem::path& path, const SearchRun& run);

// What was written, with notes cut after `longest_note` bytes. Throws trace::TraceError, which
// names the file and what is wrong with it.
SearchRun read_results(const std::filesystem::path& path);

inline constexpr std::size_t longest_note = 1000;

}  // namespace pipewright::analysis
