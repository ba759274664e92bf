#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "analysis/search/rows.hpp"

namespace pipewright::analysis {

// Rows side by side for a terminal: the axes in which they differ and their figures. A line below
// names what they have in common. `best` is what they are compared with.
std::string row_table(const SearchRun& run, std::span<const std::size_t> rows,
                      std::optional<std::size_t> best);

// What a row is worth, "812 k tokens/s", and its part of the memory, "63.1 of 80.0 GiB".
std::string worth(const SearchRun& run, const CandidateRow& row);
std::string memory_text(const CandidateRow& row);

}  // namespace pipewright::analysis
