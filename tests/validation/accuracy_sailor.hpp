#pragma once

#include <string>

namespace pipewright::accuracy {

// Sailor's runs are in 32 bits. Here values have 16: those of 32 are as many on links and memory of
// half the rate.
inline constexpr double rate_of_32_bits = 0.5;

// The path of a platform file of the nodes that a plan names, "2xTitan-RTX:tp2|2xRTX-3090:tp2".
std::string mixed_cluster(const std::string& stages);

}  // namespace pipewright::accuracy
