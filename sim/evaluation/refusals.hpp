#pragma once

#include <vector>

#include "schedules/routes.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/error.hpp"

namespace pipewright::evaluation {

// Returns an error for each rule of its stack that a scenario breaks with any schedule. `found` of
// the error says which software refuses the job and why; the other parts say what to do.
std::vector<config::Error> refusals(const config::Scenario& scenario);
// Returns the errors for all rules of its stack that a scenario breaks with a schedule whose stages
// `routes` places.
std::vector<config::Error> refusals(const config::Scenario& scenario,
                                    const config::ScheduleSpec& spec,
                                    const schedules::Routes& routes);

}  // namespace pipewright::evaluation
