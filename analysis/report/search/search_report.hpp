#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"

namespace pipewright::analysis {

struct SearchReportOptions {
  std::size_t top = 10;         // rows of the list of the best
  std::size_t front = 20;       // of a front, at the most
  std::vector<std::size_t> by;  // axes, of each value of which the best is shown
  bool by_gpus = false;         // likewise of each number of GPUs, which follows from the axes
};

// What a search came to, for a terminal of 100 columns.
std::string search_report(const SearchRun& run, const SearchReportOptions& options = {});

// The best with each value of an axis, and what of it was not needed to be known.
std::string best_by_text(const SearchRun& run, std::size_t axis);
std::string best_by_gpus_text(const SearchRun& run);

// Whether what was found is the best, in plain words, a sentence.
std::string proof_text(const SearchRun& run, const Findings& findings);

// Why there is no best, a line.
std::string none_text(const SearchRun& run, const Findings& findings);

// What one candidate has for what the better one has, and where it loses how much, on lines; it is
// called `who`.
std::string loss_text(const char* who, const SearchRun& run, const Comparison& lost);

// The axis that is called so; throws std::invalid_argument, which names those there are.
std::size_t axis_named(const std::vector<SearchAxis>& axes, const std::string& name);

}  // namespace pipewright::analysis
