#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "sim/sweep/space.hpp"

// Reference for tests of searches in small spaces: simulates all candidates and picks the best
// without using bounds.
namespace pipewright::tests {

// Simulates every candidate of the space. Returns a row for each, in order: simulated, illegal or
// too large.
std::vector<analysis::CandidateRow> simulate_all(const search::Space& space,
                                                 evaluation::Evaluator& evaluator);

// Results of a search: numbers of the candidates that are best or on a Pareto front.
struct BestCandidates {
  std::optional<std::uint64_t> best;
  std::optional<std::uint64_t> runner_up;
  std::vector<std::vector<std::uint64_t>> fronts;  // By group, in ascending order of memory.
  bool operator==(const BestCandidates&) const = default;
};
// Picks the best candidates from rows of which all were simulated.
BestCandidates best_by_simulation(const analysis::SearchRun& run,
                                  const std::vector<analysis::CandidateRow>& rows);

// Returns the best candidates as reports show them for the results of a search.
BestCandidates reported_best(const analysis::SearchRun& run, bool fronts);

// Checks bounds of time and memory against simulated values, for each basis of bounds. Returns a
// description of those that are wrong, or an empty text.
std::string faults_of_bounds(const search::Space& space, evaluation::Evaluator& evaluator,
                             const std::vector<analysis::CandidateRow>& rows);

// Compares the rows of a search with those of the reference. Returns a description of the
// differences, or an empty text.
std::string faults_of_rows(const analysis::SearchRun& run,
                           const std::vector<analysis::CandidateRow>& rows);

}  // namespace pipewright::tests
