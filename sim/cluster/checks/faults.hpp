#pragma once

#include "sim/cluster/checks/fault_search.hpp"

namespace pipewright::cluster {

// Islands and missing routes, routes without latency, links that carry both directions but are half
// duplex, links that are unlike the others of their class or that no fabric has, GPUs without a
// known type, memory or a credible speed: the first of each kind, with how many there are.
FaultReport find_faults(const Cluster& cluster);

}  // namespace pipewright::cluster
