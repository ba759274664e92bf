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

// Returns the rules of its stack that a scenario breaks with any schedule.
std::vector<Refusal> refusals(const config::Scenario& scenario);
// Returns all rules of its stack that a scenario breaks with a schedule whose stages `routes`
// places.
std::vector<Refusal> refusals(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                              const schedules::Routes& routes);

}  // namespace pipewright::evaluation
