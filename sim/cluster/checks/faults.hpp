#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/platform/platform_file.hpp"

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

// Islands and missing routes, routes without latency, links that no route uses although it does
// others of their class, links that carry both directions but are half
// duplex, links that are unlike the others of their class or that no fabric has, GPUs without a
// known type, memory or a credible speed: the first of each kind, with how many there are.
FaultReport find_faults(const Cluster& cluster);

// What routes make of a link.
struct LinkUse {
  // GPUs whose way out leads over it within the first half of their routes: what is below an
  // uplink, so that the uplinks of leaves of any size can be compared.
  std::uint64_t gpus = 0;
  std::string gpu;         // the type of the first of them
  std::uint64_t last = 0;  // the turn in which they were counted last
  bool is_duplex = false;  // one direction of a link that has two
};
using LinkUses = std::unordered_map<const Link*, LinkUse>;
// The part of it that looks at the routes.
LinkUses find_route_faults(const Cluster& cluster, const SourceLines& lines, FaultReport& report);

// " (and 7 more)": what a fault's first case says of the others.
std::string and_more(std::uint64_t count);

}  // namespace pipewright::cluster
