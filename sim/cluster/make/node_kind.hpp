#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::cluster {

// A box of GPUs as data sheets and benchmarks tell it: a file of platforms/nodes. Bandwidths are in
// bytes/s of one direction: what payload reaches. A latency is what one step of a ring collective
// takes over the link, of which it crosses two: out of one GPU (or NIC) and into the next.
struct NodeKind {
  enum class Wiring : std::uint8_t {
    nvswitch,   // a link for each GPU to a switch
    mesh,       // a link for each pair of GPUs
    cube_mesh,  // DGX-1: one or two links between some pairs, PCIe between the others
    twin_mesh,  // MI250X: four links between twins, one or two between some other pairs
    pcie,       // a link for each GPU to the host, over which it reaches the NICs too
  };

  std::string name;
  std::string help;  // one line
  std::string gpu;   // of the library of GPUs
  std::uint32_t gpus = 8;
  double speed = 0;    // FLOP/s: peak, dense bf16 (V100: fp16)
  std::string memory;  // of a GPU, as SimGrid writes it
  Wiring wiring = Wiring::nvswitch;
  std::uint32_t nvlink = 0;   // generation of its NVLinks; 0: it has none
  std::string link_class;     // of its links between GPUs; empty: nvlink, or pcie
  double link_bandwidth = 0;  // of a GPU's link; mesh: of each pair's; else of each link
  double link_latency = 0;    // seconds
  std::uint32_t nics = 8;
  double nic_bandwidth = 0;
  double nic_latency = 0;
  double launch = 0;  // seconds of a collective before its first step; 0: as of its NVLinks
  double sharp = 0;   // part of the bandwidth that sums in the NVSwitches reach; 0: they cannot
  std::vector<std::string> sources;  // of all the numbers but the latencies, as lines
};

// The keys of such a file.
std::vector<config::KeyRow> node_kind_keys();
// What the file of that name in the library, or of that path, says. Throws config::Error.
config::Value node_kind_tree(const std::string& name_or_path);
// The kind that it describes; speed and memory that it leaves out are those of its GPU's file.
// Throws config::Error.
NodeKind read_node_kind(const config::Value& tree, const std::string& name);

// Of the library, each read once. Throws config::Error, which lists them.
const NodeKind& find_node_kind(const std::string& name);
std::vector<std::string> node_kind_names();
std::string_view latency_source();

struct NodeGroup {
  const NodeKind* kind = nullptr;
  std::uint32_t count = 1;
};

// A cluster as one describes it in a sentence.
struct PlatformRequest {
  std::vector<NodeGroup> nodes;
  std::string fabric = "rail";
  double oversubscription = 1;       // of what goes up from a leaf (dragonfly: out of a group)
  double core_oversubscription = 1;  // fat-tree: of what goes up from a pod
  // Spines of their own, with their cables, above the leaves of a pod (fat-tree: of each pod, with
  // as many cores above); 0: one link of each leaf stands for all its cables.
  std::uint32_t spines = 0;
  std::uint32_t planes = 1;               // rail, fat-tree: networks that each NIC has a port in
  std::uint32_t leaf_nodes = 0;           // nodes on a leaf; 0: the fabric's usual number
  std::uint32_t pod_leaves = 4;           // fat-tree: leaves (with rails: groups of them) of a pod
  std::uint32_t group_leaves = 4;         // dragonfly: leaves of a group
  std::vector<std::uint32_t> dimensions;  // torus; empty: as near to a cube as the nodes allow
  std::string made_by;                    // the command, for the comment
};

}  // namespace pipewright::cluster
