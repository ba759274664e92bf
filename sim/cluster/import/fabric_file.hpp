#pragma once

#include <string>

#include "sim/cluster/import/fabric_hosts.hpp"
#include "sim/cluster/make/node_kind.hpp"

namespace pipewright::cluster {

struct ImportedFabric {
  std::string xml;
  Findings findings;
};

// Writes a platform file with the switches and cables of `parts` and with nodes of `kind` attached
// to them. Switches are the vertices of a zone with shortest-path routing; all cables between two
// switches become one link with the sum of their bandwidths. Throws Error that names what is
// allowed.
ImportedFabric import_fabric(FabricParts parts, const NodeKind& kind, const FabricOptions& options);

}  // namespace pipewright::cluster
