#pragma once

#include <string>

#include "sim/evaluation/hardware.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::evaluation {

// Sentence about a symmetric run whose replicas are of several kinds: how many kinds are simulated,
// where the placement differs, and the keys with which all replicas would be alike. Empty if they
// are alike, or if the run is not symmetric.
std::string symmetry_note(const config::Scenario& scenario, const Hardware& hardware,
                          const workload::Plan& plan);

// Sentence that says how many replicas a simulation ran in place of all, and whether the result is
// exact; empty if it ran all.
std::string reduction_note(const execution::Reduction& reduction);

}  // namespace pipewright::evaluation
