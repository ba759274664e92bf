#pragma once

#include <string>

#include "sim/evaluation/hardware.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::evaluation {

// Returns a note on a symmetric run with several kinds of replicas: how many kinds are simulated,
// where their placement differs, and the keys that would make all replicas equal. Empty if they are
// equal, or if the run is not symmetric.
std::string symmetry_note(const config::Scenario& scenario, const Hardware& hardware,
                          const workload::Plan& plan);

// Returns a note on the number of replicas that a simulation ran in place of all, and on whether
// the result is exact. Empty if it ran all.
std::string reduction_note(const execution::Reduction& reduction);

}  // namespace pipewright::evaluation
