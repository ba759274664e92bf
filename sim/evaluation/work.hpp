#pragma once

#include "analysis/search/objective.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// As given, or as the model's microbatch has them; 0 where neither says so.
double samples_per_microbatch(const config::Scenario& scenario);
double tokens_per_microbatch(const config::Scenario& scenario);

// Of one iteration: over the time of one, the rates of analysis::Summary.
analysis::IterationWork work_of(const config::Scenario& scenario,
                                const schedules::Schedule& schedule,
                                const workload::StageCosts& costs);

}  // namespace pipewright::evaluation
