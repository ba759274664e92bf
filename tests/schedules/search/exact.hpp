#pragma once

#include <optional>

#include "schedules/justify.hpp"

namespace pipewright::schedules {

struct ExactResult {
  Plan plan;            // the shortest known: the start, or what the solver found
  bool proven = false;  // no order of F, I and W has a shorter makespan
  int solves = 0;       // how often the solver was asked
};

// Improves the makespan of `start` until the solver CBC (`cbc` on PATH) proves that no order can
// end a cell of `unit` seconds earlier (exact_model.hpp), or for about `seconds`: enough for some 4
// devices and 8 microbatches, hopeless for large pipelines. None if there is no CBC. Throws Error
// unless times are whole cells. How far it comes in time depends on the machine; the rest does not.
std::optional<ExactResult> solve_exactly(const Pipeline& pipeline, double unit, const Plan& start,
                                         int seconds);

}  // namespace pipewright::schedules
