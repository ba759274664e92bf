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

struct ImportedFabric {
  std::string xml;
  Findings findings;
};

// A platform file of the switches and cables that `parts` tells of, each with a name of its own,
// and of nodes of `kind` on them: vertices of a zone of shortest paths are switches; between two of
// them is one link of the sum of their cables. Throws Error, which says what would be right.
ImportedFabric import_fabric(FabricParts parts, const NodeKind& kind, const FabricChoices& choices);

}  // namespace pipewright::cluster
