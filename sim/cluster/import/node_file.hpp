#pragma once

#include <map>
#include <string>

#include "sim/cluster/import/node_parts.hpp"
#include "sim/cluster/make/node_kind.hpp"

namespace pipewright::cluster {

// What options say of a node, by the keys of its file: over what the file says, or in its place.
using NodeWords = std::map<std::string, std::string>;

struct ImportedNode {
  NodeKind kind;
  std::string yaml;  // a file as those of platforms/nodes
  Findings findings;
};

// The kind of node that a file tells of. Numbers that it does not tell are those of the type of
// GPU. Throws Error or config::Error, which say what would be right.
ImportedNode import_node(const NodeParts& parts, const NodeWords& words, const std::string& name);

}  // namespace pipewright::cluster
