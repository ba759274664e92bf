#pragma once

#include <cstdint>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "support/random.hpp"

namespace pipewright::tests {

// Candidates whose results of assessment and simulation are known in advance.
struct SearchWorld {
  std::uint32_t groups = 1;
  std::uint32_t of_layout = 1;  // Schedules per layout.
  bool is_counted = true;       // Whether the number of candidates is exact.
  analysis::Objective objective;
  std::vector<analysis::CandidateRow> simulated;  // By candidate; illegal ones are unchanged.
  std::vector<bool> deadly;                       // Simulating it kills the worker.
  std::vector<bool> deadly_to_assess;

  // Returns the result of assessing a candidate. Without the order of passes, bounds are lower and
  // some candidates that do not fit are not detected.
  analysis::CandidateRow assessed(std::uint64_t candidate,
                                  analysis::Basis basis = analysis::Basis::order) const;
};

// Makes a random world with many equal figures, so that ties are common. Bounds are below times,
// some by little.
SearchWorld random_world(Random& random, std::uint32_t candidates);

// Returns the result of simulating all candidates except the deadly ones.
analysis::SearchRun everything(const SearchWorld& world);

}  // namespace pipewright::tests
