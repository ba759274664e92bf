#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/evaluation/expected_error.hpp"

// Checks expected errors by leaving out one source of measured runs after the other.
namespace pipewright::tests {

struct Coverage {
  std::string source;
  double rows = 0;
  double covered = 0;  // runs within the expected error that all other sources give
  double width = 0;    // mean of high - low over the runs

  double share() const { return covered / rows; }
};

// Returns one element for each source, in the order of their first runs.
std::vector<Coverage> left_out_coverage(std::span<const evaluation::MeasuredRuns> runs);
// Share of all runs that are covered, and mean over the sources of their shares.
double row_share(std::span<const Coverage> coverage);
double mean_share(std::span<const Coverage> coverage);

}  // namespace pipewright::tests
