#pragma once

#include <set>
#include <string>
#include <vector>

#include "analysis/search/findings.hpp"
#include "analysis/search/rows.hpp"

namespace pipewright::analysis {

// What the page has besides its columns, as JSON that is safe inside a script element.
std::string page_head(const SearchRun& run, const Findings& findings,
                      const std::vector<std::string>& notes);

// Rows whose scenarios a page has.
std::set<std::size_t> rows_with_scenarios(const Findings& findings, std::size_t most);

}  // namespace pipewright::analysis
