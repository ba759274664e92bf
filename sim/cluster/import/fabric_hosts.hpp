#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/import/fabric_parts.hpp"
#include "sim/cluster/make/node_kind.hpp"

namespace pipewright::cluster {

// Options for importing a fabric: settings that the file does not contain.
struct FabricOptions {
  std::vector<std::string> only;  // hosts to include, "dgx-*"; empty for all
  std::vector<std::string> skip;  // hosts to leave out
  bool skip_incomplete = false;   // leave out hosts whose number of NICs differs from their kind
  double oversubscription = 1;    // assumed of switches whose cables are unknown
  std::optional<std::uint32_t> host_gpus;  // GPUs per host, if blocks are NVLink domains
  std::string node_origin = "--node";      // origin of the node kind
  std::string made_by;                     // command line, recorded in the file
};

// Numbers of GPUs and NICs of a host: those of its node kind, or the host's share of them if NVLink
// joins several hosts.
struct HostShare {
  std::uint32_t gpus = 0;
  std::uint32_t nics = 0;
};

// Removes hosts that are not selected, checks that each has the NICs of its kind, and gives hosts,
// blocks and switches names that a platform file can hold. Throws Error that names what is allowed.
HostShare select_hosts(FabricParts& parts, const NodeKind& kind, const FabricOptions& options,
                       Findings& findings);

}  // namespace pipewright::cluster
