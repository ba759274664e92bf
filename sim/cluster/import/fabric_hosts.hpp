#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/import/fabric_parts.hpp"
#include "sim/cluster/make/node_kind.hpp"

namespace pipewright::cluster {

// What the file of a fabric leaves open.
struct FabricChoices {
  std::vector<std::string> only;  // hosts to take, "dgx-*"; empty: all
  std::vector<std::string> skip;  // hosts to leave out
  bool skip_incomplete = false;   // leave out hosts with another number of NICs than their kind
  double oversubscription = 1;    // of switches whose cables are not told
  std::optional<std::uint32_t> host_gpus;  // GPUs of a host whose block is an NVLink domain
  std::string node_from = "--node";        // what says the kind of node
  std::string made_by;                     // the command, for the file
};

// What each host has of its kind of node: all, or its part where NVLink joins several hosts.
struct HostShare {
  std::uint32_t gpus = 0;
  std::uint32_t nics = 0;
};

// Leaves the hosts that count, each with the NICs of its kind, and gives hosts, blocks and switches
// names that a platform file can hold. Throws Error, which says what would be right.
HostShare settle_hosts(FabricParts& parts, const NodeKind& kind, const FabricChoices& choices,
                       Findings& findings);

}  // namespace pipewright::cluster
