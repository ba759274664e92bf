#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::cluster {

// A box of GPUs as data sheets and benchmarks tell it. Bandwidths are in bytes/s of one direction:
// what payload reaches. A latency is what one step of a ring collective takes over the link, of
// which it crosses two: out of one GPU (or NIC) and into the next.
struct NodeKind {
  enum class Wiring : std::uint8_t {
    nvswitch,   // a link for each GPU to a switch
    cube_mesh,  // DGX-1: one or two links between some pairs, PCIe between the others
    pcie,       // a link for each GPU to the host, over which it reaches the NICs too
  };

  std::string_view name;
  std::string_view help;  // one line
  std::string_view gpu;   // of the library of GPUs
  std::uint32_t gpus = 8;
  std::string_view speed;   // as SimGrid writes them: peak, dense bf16 (V100: fp16)
  std::string_view memory;  // of a GPU
  Wiring wiring = Wiring::nvswitch;
  int nvlink = 0;             // generation; 0: it has none
  double link_bandwidth = 0;  // of a GPU's link; cube_mesh: of each link of a pair
  double link_latency = 0;    // seconds
  std::uint32_t nics = 8;
  double nic_bandwidth = 0;
  double nic_latency = 0;
  double launch = 0;  // seconds of a collective before its first step
  double sharp = 0;   // part of the bandwidth that sums in the NVSwitches reach; 0: they cannot
  std::array<std::string_view, 3> sources;  // of all the numbers but the latencies, as lines
};

std::span<const NodeKind> node_kinds();
std::string_view latency_source();
std::string_view protocol_source();
// Throws Error, which lists them.
const NodeKind& find_node_kind(std::string_view name);

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

}  // namespace pipewright::cluster
