#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/import/fabric_parts.hpp"

namespace pipewright::cluster {

// Bandwidths of what the file does not tell, bytes/s of payload.
struct FabricRates {
  double host_bandwidth = 0;  // of all NICs of a host, where the file has them as one
  double nic_bandwidth = 0;
  double oversubscription = 1;  // of links up whose cables are not told
};

// Switches by how far they are above hosts, and what joins them.
struct FabricGraph {
  struct Link {  // all cables between two switches
    std::uint32_t below = 0;
    std::uint32_t above = 0;
    double bandwidth = 0;    // bytes/s of payload: the sum of the cables
    std::string link_class;  // "leaf-spine"
  };
  std::vector<Link> links;  // in order of the switches' names
  std::vector<bool> used;   // switches on a shortest way from host to host
  std::size_t cables = 0;
  std::size_t without_rate = 0;  // cables, and ports of hosts
  std::size_t pruned = 0;        // the other switches
  std::string summary;           // "32: 24 leaf, 8 spine"
  std::string rates;             // "NIC 47 GB/s, leaf-spine 94 GB/s"
};

// Throws Error where no way leads from one host to another.
FabricGraph make_graph(const FabricParts& parts, const FabricRates& rates);

}  // namespace pipewright::cluster
