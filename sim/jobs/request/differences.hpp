#pragma once

#include <string>
#include <vector>

#include "sim/config/scenario.hpp"

namespace pipewright::jobs {

// Where two scenarios would be predicted apart: "training.reserved is 3 GiB, and would be left
// out". What does not belong to a job (cluster, engine, outputs) is not compared.
std::vector<std::string> differences(const config::Scenario& wanted, const config::Scenario& said);

// The tree of a scenario whose model and schedule are maps.
config::Value spelled_out(const config::Scenario& scenario);

}  // namespace pipewright::jobs
