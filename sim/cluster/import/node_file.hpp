#pragma once

#include <map>
#include <string>

#include "sim/cluster/import/node_parts.hpp"
#include "sim/cluster/make/node_kind.hpp"

namespace pipewright::cluster {

// Command-line settings of a node, by the keys of its file. They override the file.
using NodeOptions = std::map<std::string, std::string>;

struct ImportedNode {
  NodeKind kind;
  std::string yaml;  // a file in the format of platforms/nodes
  Findings findings;
};

// Derives a node kind from the GPUs, NICs and links that a file lists. Numbers that the file lacks
// are those of the GPU type. Throws Error or config::Error that name what is allowed.
ImportedNode import_node(const NodeParts& parts, const NodeOptions& options,
                         const std::string& name);

}  // namespace pipewright::cluster
