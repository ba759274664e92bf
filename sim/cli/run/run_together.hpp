#pragma once

#include "sim/cli/options.hpp"

namespace pipewright::cli {

// `run A.yaml B.yaml --together`: several jobs on one cluster.
int run_together(const po::variables_map& given);

}  // namespace pipewright::cli
