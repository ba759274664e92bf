#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace pipewright::cluster {

// Something in a platform file that loads but that hardly anyone means.
struct Fault {
  int line = 0;  // of the file; 0: of no line in particular
  std::string what;
};

struct FaultReport {
  std::vector<Fault> faults;  // by line
  // Pairs of GPUs, each way counted: those that were looked at, of all. The others are like them,
  // but for those of a platform too large for that, of which a part is drawn.
  std::uint64_t looked_at = 0;
  std::uint64_t pairs = 0;
  bool is_sampled = false;
};

// Islands and missing routes, routes without latency, links that carry both directions but are half
// duplex, links that are unlike the others of their class or that no fabric has, GPUs without a
// known type, memory or a credible speed: the first of each kind, with how many there are.
FaultReport find_faults(const Cluster& cluster);

}  // namespace pipewright::cluster
