#pragma once

#include <cstdint>
#include <string>

#include "sim/config/text/value.hpp"

namespace pipewright::cli {

// Number of GPUs that a scenario needs: the product of tp, cp, pp, dp and `devices`.
std::uint64_t gpus_of(const config::Value& tree);

// Describes the clusters of the library with at least this many GPUs of a type ("h100", or empty
// for any type), or how to make such a cluster; completes the sentence "Give --cluster X, ...".
std::string fitting_clusters(const std::string& gpu, std::uint64_t gpus);

}  // namespace pipewright::cli
