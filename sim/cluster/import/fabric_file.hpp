#pragma once

#include <string>

#include "sim/cluster/import/fabric_hosts.hpp"
#include "sim/cluster/make/node_kind.hpp"

namespace pipewright::cluster {

struct ImportedFabric {
  std::string xml;
  Findings findings;
};

// A platform file of the switches and cables that `parts` tells of, each with a name of its own,
// and of nodes of `kind` on them: vertices of a zone of shortest paths are switches; between two of
// them is one link of the sum of their cables. Throws Error, which says what would be right.
ImportedFabric import_fabric(FabricParts parts, const NodeKind& kind, const FabricChoices& choices);

}  // namespace pipewright::cluster
