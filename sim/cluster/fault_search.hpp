#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cluster/faults.hpp"
#include "sim/cluster/places.hpp"

// The parts of find_faults().
namespace pipewright::cluster {

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

// "and 7 more": what a fault's first case says of the others.
std::string and_more(std::uint64_t count);

void find_gpu_faults(const Cluster& cluster, const Places& places, std::vector<Fault>& faults);
LinkUses find_route_faults(const Cluster& cluster, const Places& places, FaultReport& report);
void find_link_faults(const Cluster& cluster, const Places& places, const LinkUses& uses,
                      std::vector<Fault>& faults);

}  // namespace pipewright::cluster
