#pragma once

#include <string>

#include "analysis/search/findings.hpp"
#include "analysis/search/rows.hpp"

namespace pipewright::analysis {

// What became of all combinations: how many rules cut away, how many candidates have each outcome,
// and the most common reasons with an example of each.
std::string counts_text(const SearchRun& run, const Findings& findings);

// Why there is none to show of candidates with these outcomes: "none legal", "none fits".
std::string outcome_of_none(const OutcomeCounts& outcomes);

std::string grouped(double count);  // "1,234,567"; "1.2e+12" of what is more than can be counted

}  // namespace pipewright::analysis
