#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "sim/sweep/space.hpp"

// Reference for searches of small spaces: simulates all candidates and sorts them, without bounds.
namespace pipewright::tests {

// Simulates every candidate of the space. Returns a row for each, in order: simulated, illegal or
// too large.
std::vector<analysis::CandidateRow> simulate_all(const search::Space& space,
                                                 evaluation::Evaluator& evaluator);

// Answers of a search, as numbers of candidates.
struct Found {
  std::optional<std::uint64_t> best;
  std::optional<std::uint64_t> runner_up;
  std::vector<std::vector<std::uint64_t>> fronts;  // By group, in ascending order of memory.
  bool operator==(const Found&) const = default;
};
// Returns the answers of the reference.
Found sorted_out(const analysis::SearchRun& run, const std::vector<analysis::CandidateRow>& rows);

// Returns the answers that reports derive from the results of a search.
Found found_in(const analysis::SearchRun& run, bool fronts);

// Describes wrong bounds of time and memory of the candidates, on each basis; empty if there are
// none.
std::string faults_of_bounds(const search::Space& space, evaluation::Evaluator& evaluator,
                             const std::vector<analysis::CandidateRow>& rows);

// Describes differences between the rows of a search and the reference; empty if there are none.
std::string faults_of_rows(const analysis::SearchRun& run,
                           const std::vector<analysis::CandidateRow>& rows);

}  // namespace pipewright::tests
