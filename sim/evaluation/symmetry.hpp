#pragma once

#include <string>

#include "sim/evaluation/hardware.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::evaluation {

// Returns the sentence that says how many replicas a simulation ran in place of all, whether the
// result is exact, and why. For a symmetric run with several kinds of replicas also where their
// placement differs, and with which keys all replicas would be alike. Empty if nothing was reduced.
std::string reduction_note(const config::Scenario& scenario, const Hardware& hardware,
                           const workload::Plan& plan, const execution::Reduction& reduction);

}  // namespace pipewright::evaluation
