#pragma once

#include <cstdint>
#include <string>

#include "sim/config/text/value.hpp"

namespace pipewright::cli {

// GPUs that a scenario's parallel sizes take.
std::uint64_t gpus_of(const config::Value& tree);

// Which clusters of the library have so many GPUs of a kind ("h100", or empty for any), in words:
// "such as dgx-h100 (32 GPUs) or ..", or how one is made.
std::string fitting_clusters(const std::string& gpu, std::uint64_t gpus);

}  // namespace pipewright::cli
