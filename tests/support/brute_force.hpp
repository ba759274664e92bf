#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/evaluation/evaluator.hpp"
#include "sim/sweep/space.hpp"

// What searching a small space comes to without any bounds: simulate all, and sort.
namespace pipewright::tests {

// One row for each candidate of the space, in order: simulated, illegal or too large.
std::vector<analysis::CandidateRow> simulate_all(const search::Space& space,
                                                 evaluation::Evaluator& evaluator);

// By number of candidate.
struct Found {
  std::optional<std::uint64_t> best;
  std::optional<std::uint64_t> runner_up;
  std::vector<std::vector<std::uint64_t>> fronts;  // by group, least memory first
  bool operator==(const Found&) const = default;
};
Found sorted_out(const analysis::SearchRun& run, const std::vector<analysis::CandidateRow>& all);

// Likewise, as all that reads results finds it in them.
Found found_in(const analysis::SearchRun& run, bool fronts);

// What is wrong with the bounds of time and memory of these, on each basis; nothing: "".
std::string faults_of_bounds(const search::Space& space, evaluation::Evaluator& evaluator,
                             const std::vector<analysis::CandidateRow>& all);

// What a search says of its candidates that simulating all of them does not; nothing: "".
std::string faults_of_rows(const analysis::SearchRun& run,
                           const std::vector<analysis::CandidateRow>& all);

}  // namespace pipewright::tests
