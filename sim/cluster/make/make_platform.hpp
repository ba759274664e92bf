#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/make/node_kind.hpp"

namespace pipewright::cluster {

struct NodeGroup {
  const NodeKind* kind = nullptr;
  std::uint32_t count = 1;
};

// A cluster as one describes it in a sentence.
struct PlatformRequest {
  std::vector<NodeGroup> nodes;
  std::string fabric = "rail";
  double oversubscription = 1;            // of what goes up from a leaf (dragonfly: out of a group)
  double core_oversubscription = 1;       // fat-tree: of what goes up from a pod
  std::uint32_t leaf_nodes = 0;           // nodes on a leaf; 0: the fabric's usual number
  std::uint32_t pod_leaves = 4;           // fat-tree: leaves (with rails: groups of them) of a pod
  std::uint32_t group_leaves = 4;         // dragonfly: leaves of a group
  std::vector<std::uint32_t> dimensions;  // torus; empty: as near to a cube as the nodes allow
  std::string made_by;                    // the command, for the comment
};

struct Fabric {
  std::string_view name;
  std::string_view help;  // one line
  std::uint32_t leaf_nodes = 0;
};
std::span<const Fabric> fabrics();

// A platform file in SimGrid's XML. Throws Error, which says what would be right.
std::string make_platform(const PlatformRequest& request);

}  // namespace pipewright::cluster
