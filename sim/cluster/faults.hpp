#pragma once

#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace pipewright::cluster {

// Something in a platform file that loads but that hardly anyone means.
struct Fault {
  int line = 0;  // of the file; 0: of no line in particular
  std::string what;
};

// Islands and missing routes, routes without latency, links that carry both directions but are half
// duplex, GPUs without type, memory or a credible speed: the first of each kind, with how many
// there are. Looks at every pair of GPUs, or at as many evenly chosen ones as 200,000 routes allow.
std::vector<Fault> find_faults(const Cluster& cluster);

}  // namespace pipewright::cluster
