#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

// What became of all combinations: how many rules cut away, how many candidates have each outcome,
// and the most common reasons with an example of each.
std::string counts_text(const SearchRun& run, const Findings& findings);

// What is said of combinations that were neither cut away nor looked at.
const char* not_looked_at_words(const SearchRun& run);

// Why there is none to show of candidates with these outcomes: "none legal", "none fits".
std::string outcome_of_none(const OutcomeCounts& outcomes);

std::string grouped(double count);  // "1,234,567"; "1.2e+12" of what is more than can be counted

// Rows side by side for a terminal: the axes in which they differ and their figures. Lines below
// name what they have in common, and what marked figures rest on. `best` is what they are compared
// with. `with_gpus` adds the number of GPUs, which follows from the axes.
std::string row_table(const SearchRun& run, std::span<const std::size_t> rows,
                      std::optional<std::size_t> best, bool with_gpus = false);

// What a row is worth, "812 k tokens/s", and its part of the memory, "63.1 of 80.0 GiB".
std::string worth(const SearchRun& run, const CandidateRow& row);
std::string memory_text(const CandidateRow& row);

}  // namespace pipewright::analysis
