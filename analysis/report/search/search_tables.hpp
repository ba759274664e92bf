#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {

// Returns a table, without headings, of the number of combinations that rules exclude and of
// candidates by outcome, with the most common reasons and an example of each.
TextTable counts_table(const SearchRun& run, const Findings& findings);

// Returns the words for combinations that the search has neither excluded nor examined.
const char* unexamined_words(const SearchRun& run);

// Returns the reason why there is no best candidate, given the outcomes: "none legal", "none fits".
std::string no_best_reason(const OutcomeCounts& outcomes);

// Returns a count with separators, "1,234,567", or "1.2e+12" for counts that are not exact.
std::string grouped(double count);

// Returns a table of rows for a terminal: the axes in which they differ, and their figures. Lines
// below name the common values and the assumed values that marked figures depend on. The column
// "behind" compares with `best`. `with_gpus` adds the number of GPUs, and `axis` the values of that
// axis, also if the rows do not differ in it.
std::string row_table(const SearchRun& run, std::span<const std::size_t> rows,
                      std::optional<std::size_t> best, bool with_gpus = false,
                      std::optional<std::size_t> axis = {});

// Return the cost of a row in the unit of the objective, "812 k tokens/s", and its memory, "63.1 of
// 80.0 GiB".
std::string objective_text(const SearchRun& run, const CandidateRow& row);
std::string memory_text(const CandidateRow& row);

}  // namespace pipewright::analysis
