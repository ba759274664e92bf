#pragma once

#include <cstdint>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "support/random.hpp"

namespace pipewright::tests {

// Candidates of which everything is known beforehand: what assessing finds out, and what simulating
// would.
struct SearchWorld {
  std::uint32_t groups = 1;
  std::uint32_t of_layout = 1;  // schedules
  bool is_counted = true;       // else there may be more than are told of
  analysis::Objective objective;
  std::vector<analysis::CandidateRow> simulated;  // by candidate; illegal ones as they are
  std::vector<bool> deadly;                       // whoever simulates it dies
  std::vector<bool> deadly_to_assess;

  // On less than the order of passes, bounds are lower, and some that do not fit are not known to.
  analysis::CandidateRow assessed(std::uint64_t candidate,
                                  analysis::Basis basis = analysis::Basis::order) const;
};

// With many equal figures, so that ties are common. Bounds are below times, some only just.
SearchWorld random_world(Random& random, std::uint32_t candidates);

// What simulating all but the deadly ones comes to.
analysis::SearchRun everything(const SearchWorld& world);

}  // namespace pipewright::tests
