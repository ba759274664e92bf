#pragma once

#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/jobs/request/difference.hpp"

namespace pipewright::jobs {

// Differences between a scenario and the one that a framework would run, as far as they change the
// prediction. Keys that are not part of a job (cluster, engine, outputs) are not compared, nor are
// the stacks' own keys.
std::vector<Difference> differences(const config::Scenario& planned,
                                    const config::Scenario& actual);

// Tree of a scenario in a uniform form: model and schedule are maps, aliases are replaced by the
// keys' own names, and keys that the scenario leaves to its stack have the stack's defaults.
config::Value spelled_out(const config::Scenario& scenario);

}  // namespace pipewright::jobs
