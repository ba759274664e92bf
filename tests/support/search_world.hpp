#pragma once

#include <cstdint>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "support/random.hpp"

namespace pipewright::tests {

// An invented search space, in which the bounds and simulated results of all candidates are known
// in advance.
struct SearchWorld {
  std::uint32_t groups = 1;
  std::uint32_t of_layout = 1;  // Schedules per layout.
  bool is_counted = true;       // Whether the number of candidates is exact.
  analysis::Objective objective;
  std::vector<analysis::CandidateRow> simulated;  // By candidate; illegal ones are unchanged.
  std::vector<bool> deadly;                       // Simulating it kills the worker.
  std::vector<bool> deadly_to_assess;

  // Returns the bounds that a worker would report for a candidate. Unless they are based on the
  // order of passes, they are lower, and some candidates that do not fit into memory are not
  // detected.
  analysis::CandidateRow assessed(std::uint64_t candidate,
                                  analysis::Basis basis = analysis::Basis::order) const;
};

// Makes a random world in which many times and sizes are equal, so that ties are common. Lower
// bounds are below times, some only by little.
SearchWorld random_world(Random& random, std::uint32_t candidates);

// Returns results in which all candidates are simulated, except those that would kill their worker.
analysis::SearchRun exhaustive_search(const SearchWorld& world);

}  // namespace pipewright::tests
