#pragma once

#include <string>
#include <vector>

#include "schedules/routes.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::evaluation {

// A rule of a stack that a job breaks.
struct Refusal {
  std::string reason;  // "megatron-core refuses this job: interleaved .., and pp is 1"
  std::string remedy;  // change that satisfies the rule, in the imperative
};

// Returns the rules of its stack that a scenario breaks with a schedule whose stages `routes`
// places. Null stands for one stage on each device, so that rules of the placement hold.
std::vector<Refusal> refusals(const config::Scenario& scenario, const schedules::Routes* routes);

}  // namespace pipewright::evaluation
