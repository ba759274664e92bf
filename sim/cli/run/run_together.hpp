#pragma once

#include "sim/cli/options.hpp"

// `run A.yaml B.yaml --together`: several jobs on one cluster.
namespace pipewright::cli {

void add_together_options(po::options_description& options);
// Throws UsageError where they are given without --together.
void check_together_options(const po::variables_map& given);

int run_together(const po::variables_map& given);

}  // namespace pipewright::cli
