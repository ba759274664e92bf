#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/platform/platform_file.hpp"

namespace pipewright::cluster {

// A probable mistake in a platform file, which loads nevertheless.
struct Fault {
  int line = 0;  // line of the file; 0 if there is none in particular
  std::string message;
};

struct FaultReport {
  std::vector<Fault> faults;  // sorted by line
  // Ordered pairs of GPUs: examined pairs and all pairs. An examined pair represents all equivalent
  // pairs, except in platforms that are so large that pairs are sampled.
  std::uint64_t examined = 0;
  std::uint64_t pairs = 0;
  bool is_sampled = false;
};

// Looks for disconnected GPUs and missing routes, routes without latency, links without routes
// although other links of their class have some, half-duplex links that carry both directions,
// links that differ strongly from their class or from any real fabric, and GPUs without a known
// type, memory or plausible speed. Reports the first fault of each kind and the number of faults.
FaultReport find_faults(const Cluster& cluster);

// Number of GPUs that send over a link, for comparison with other links.
struct LinkUse {
  // Number of GPUs whose outgoing routes use the link in their first half: the GPUs below an
  // uplink, so that uplinks of leaves of different sizes are comparable.
  std::uint64_t gpus = 0;
  std::string gpu;               // type of the first of these GPUs
  std::uint64_t last_round = 0;  // round in which GPUs were last counted
  bool is_duplex = false;        // one direction of a duplex link
};
using LinkUses = std::unordered_map<const Link*, LinkUse>;
// Finds the faults of routes between GPUs, as a part of find_faults(). Returns the use of each
// link.
LinkUses find_route_faults(const Cluster& cluster, const SourceLines& lines, FaultReport& report);

// Suffix of a message about the first of several faults: " (and 7 more)".
std::string and_more(std::uint64_t count);

}  // namespace pipewright::cluster
