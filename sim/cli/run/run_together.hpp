#pragma once

#include "sim/cli/options.hpp"

namespace pipewright::cli {

// `pipewright run A.yaml B.yaml --together`: runs several jobs at once on one cluster.
int run_together(const po::variables_map& flags);

}  // namespace pipewright::cli
