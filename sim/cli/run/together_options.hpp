#pragma once

#include <cstddef>
#include <vector>

#include "sim/cli/options.hpp"
#include "sim/evaluation/sharing/place_jobs.hpp"

// Options that are only for `run --together`.
namespace pipewright::cli {

void add_together_options(po::options_description& options);
// Throws UsageError if --placing, --phases, --phase or --jobs is given without --together.
void check_together_options(const po::variables_map& flags);

// Return the values of --placing, of --phases or --phase, and of --jobs. Throw UsageError or
// config::Error.
evaluation::Placing placing_of(const po::variables_map& flags);
std::vector<double> phases_of(const po::variables_map& flags);
std::size_t count_jobs(const po::variables_map& flags);  // parallel simulations

}  // namespace pipewright::cli
