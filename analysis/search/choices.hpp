#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/search/rows.hpp"

namespace pipewright::analysis {

// Which value of each axis a candidate has.
std::vector<std::uint32_t> choices(const std::vector<SearchAxis>& axes, std::uint64_t candidate);

const std::string& value_of(const SearchRun& run, const CandidateRow& row, std::size_t axis);

// Axes that leave a choice, as others tell nothing about a candidate.
std::vector<std::size_t> open_axes(const SearchRun& run);

// "tp 8, pp 4, schedule zb-1p": a candidate among others of its search, for a terminal.
std::string named(const SearchRun& run, const CandidateRow& row);

}  // namespace pipewright::analysis
