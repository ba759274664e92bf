#pragma once

#include "sim/config/scenario.hpp"

namespace pipewright::config {

// What keys of a scenario ask of each other, once each was read; settles what follows from them:
// `microbatches` from global_batch and `p2p` from overlap_p2p. `root` says where they stand.
// Throws Error.
void check_scenario(Scenario& scenario, const Value& root);

}  // namespace pipewright::config
