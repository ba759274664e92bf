#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

struct SearchReportOptions {
  std::size_t top = 10;         // rows in the table of the best candidates
  std::size_t front = 20;       // maximum number of rows of a front
  std::vector<std::size_t> by;  // axes for which the best candidate of each value is listed
  bool by_gpus = false;         // list the best candidate for each number of GPUs
};

// Returns the report of a search for a terminal of 100 columns.
std::string search_report(const SearchRun& run, const SearchReportOptions& options = {});

// Return tables of the best candidate for each value of an axis, or for each number of GPUs. Lines
// below name the values whose best candidate the search did not have to determine.
std::string best_by_text(const SearchRun& run, std::size_t axis);
std::string best_by_gpus_text(const SearchRun& run);

// Returns a phrase that says whether the best candidate is proven to be the best.
std::string proof_text(const SearchRun& run, const Findings& findings);

// Returns a line that says why the search found no best candidate.
std::string no_best_text(const SearchRun& run, const Findings& findings);

// Comparison of a candidate with the better one in words.
struct LossWords {
  std::string axes;                  // values on the axes in which the candidates differ
  std::string distance;              // loss in the objective, time and memory
  std::vector<std::string> details;  // parts of the loss
};
LossWords loss_words(const SearchRun& run, const Comparison& lost);

// Returns the index of the axis that has this name or key. Throws std::invalid_argument with a list
// of the axes.
std::size_t axis_named(const std::vector<SearchAxis>& axes, const std::string& name);

}  // namespace pipewright::analysis
