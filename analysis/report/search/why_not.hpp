#pragma once

#include <string>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/answer_report.hpp"
#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

// Explains why no candidate that meets a condition, such as "tp == 8", is better than the best one.
struct WhyNot {
  std::string condition;  // a constraint: "tp == 8"
  SearchRun matches;      // search among the candidates that meet the condition
  std::string refusal;    // reason why no candidate meets it, on one or more lines, or empty
};

// Compares the best candidate that meets the condition with the best of the run, or reports why no
// candidate meets it.
AnswerReport why_not_answer(const SearchRun& run, const WhyNot& answer);
Json why_not_json(const SearchRun& run, const WhyNot& answer);

}  // namespace pipewright::analysis
