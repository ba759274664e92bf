#pragma once

#include <string>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

// What a person asks of a winner: why is none of these better?
struct WhyNot {
  std::string condition;  // "tp == 8", in the words of constraints
  SearchRun among;        // those that meet it, searched for the best of them
  std::string empty;      // why there is none, as a text of one line or more; else nothing
};

// The best of those against the best of all, as the runner-up is explained; or why none of them
// can be.
std::string why_not_text(const SearchRun& run, const WhyNot& asked);
Json why_not_json(const SearchRun& run, const WhyNot& asked);

}  // namespace pipewright::analysis
