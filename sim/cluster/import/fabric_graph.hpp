#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/import/fabric_parts.hpp"

namespace pipewright::cluster {

// Bandwidths to assume where the imported file has none, in bytes/s of payload.
struct FabricRates {
  double host_bandwidth = 0;  // sum over a host's NICs, if the file lists only one port per host
  double nic_bandwidth = 0;
  double oversubscription = 1;  // assumed of uplinks whose cables are unknown
};

// Switches of a fabric by their level above the hosts, and the links between them.
struct FabricGraph {
  struct Link {  // all cables between two switches
    std::uint32_t below = 0;
    std::uint32_t above = 0;
    double bandwidth = 0;    // bytes/s of payload, summed over the cables
    std::string link_class;  // "leaf-spine"
  };
  // Cables of a class that have a lower rate than most cables of the class, or than the ports of
  // both switches: trained to fewer lanes, or to a lower speed.
  struct SlowCables {
    std::string kind;   // "NIC", "leaf-spine"
    std::string first;  // "node-3 mlx5_1", "leaf-1--spine-2"
    // Line and rates of the first cable; rates are nominal, in bytes/s.
    int line = 0;
    double rate = 0;
    double full_rate = 0;
    std::size_t count = 0;
    std::size_t cables = 0;  // number of cables of this kind
  };
  std::vector<SlowCables> slow;
  std::vector<Link> links;  // in the order of the switches
  std::vector<bool> used;   // by switch: whether it is on a shortest path between hosts
  std::size_t cables = 0;
  std::size_t without_rate = 0;  // cables and host ports without a known rate
  std::size_t pruned = 0;        // number of unused switches
  std::string summary;           // "32: 24 leaf, 8 spine"
  std::string rates;             // "NIC 47 GB/s, leaf-spine 94 GB/s"
};

// Builds the graph of a fabric's switches. Throws Error if two hosts are not connected.
FabricGraph make_graph(const FabricParts& parts, const FabricRates& rates);

}  // namespace pipewright::cluster
