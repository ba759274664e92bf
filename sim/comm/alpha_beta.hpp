#pragma once

#include <cstdint>

#include "sim/comm/prediction.hpp"

namespace pipewright::comm {

// What a planner's formula says of an operation: latency of its steps, and bytes over bandwidth
// (Hockney 1994; Thakur, Rabenseifner and Gropp 2005), with each GPU sending and receiving at the
// bandwidth that its routes have when nothing else is on them. So it knows the links' numbers, the
// algorithm and the protocol, but no link that several GPUs or groups share. Where a simulation
// takes longer, it is for contention or topology.
//
// Seconds of the first group, by the algorithm and protocol that the simulation takes.
double alpha_beta(const Setting& setting, std::uint64_t bytes);

}  // namespace pipewright::comm
