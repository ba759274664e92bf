#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::cluster {

// Host of a node's GPUs.
struct NodeHost {
  std::string type;          // its processors
  double launch_factor = 1;  // factor of the host times of a software stack
  // Bytes/s that all cores reach together in the memory of the node, which its GPUs share, and what
  // a core reaches; 0: not stated.
  double memory_bandwidth = 0;
  double core_bandwidth = 0;
  std::uint32_t gpus = 0;  // GPUs of a host, if a node has several hosts: trays of a rack; 0: all
};

// Links that join two GPUs of a node.
struct PairLinks {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  int links = 1;
};

// A kind of node, as described by data sheets and benchmarks: a file of platforms/nodes. Bandwidths
// are payload in bytes/s per direction. A latency is half of a ring step: a step crosses two links,
// out of one GPU (or NIC) and into the next.
struct NodeKind {
  enum class Wiring : std::uint8_t {
    nvswitch,   // a link from each GPU to a switch
    mesh,       // a link between each pair of GPUs
    cube_mesh,  // DGX-1: one or two links between some pairs, PCIe between the others
    twin_mesh,  // MI250X: four links between twins, one or two between some other pairs
    pcie,       // a link from each GPU to the host, which also leads to the NICs
    pairs,      // links between the GPUs that `pairs` lists
  };

  std::string name;
  std::string help;  // one line
  std::string gpu;   // name in the GPU library
  std::uint32_t gpus = 8;
  double speed = 0;    // peak FLOP/s, dense bf16 (V100: fp16)
  std::string memory;  // memory of a GPU, in SimGrid's notation
  Wiring wiring = Wiring::nvswitch;
  std::uint32_t nvlink = 0;  // NVLink generation; 0 if there are no NVLinks
  std::string link_class;    // class of the links between GPUs; empty for nvlink or pcie
  // bandwidth in bytes/s of a GPU's link (nvswitch, pcie), of a pair's link (mesh), or of each of
  // several links (cube_mesh, twin_mesh, pairs)
  double link_bandwidth = 0;
  double link_latency = 0;  // seconds
  std::vector<PairLinks> pairs;
  bool relay = false;  // pairs: GPUs without a common link communicate over the links of others
  // cube_mesh, pairs: bandwidth of a GPU's PCIe link, over which GPUs without a common link
  // communicate
  double pcie_bandwidth = 10e9;
  // cube_mesh, twin_mesh: position of each GPU in the wiring; empty if GPUs are in the wiring's
  // order
  std::vector<std::uint32_t> places;
  std::uint32_t nics = 8;
  double nic_bandwidth = 0;
  double nic_latency = 0;
  double nic_ll128 = 0.92;  // fraction of the NIC's bandwidth that protocol LL128 reaches
  // Fraction of the NIC's bandwidth that remains if many ranks exchange messages directly.
  double nic_direct = 1;
  double nic_message = 2.5e-6;  // seconds between successive messages of a GPU to other nodes
  double launch = 0;  // launch latency of a collective in seconds; 0 for the default of its NVLinks
  double sharp = 0;   // fraction of the bandwidth for reductions in NVSwitches; 0 if unsupported
  NodeHost host;
  std::vector<std::string> sources;  // sources of all numbers except the latencies, as lines
};

// NICs of a node that its GPUs can share evenly, with the same bandwidth together as the given
// ones.
struct EvenNics {
  std::uint32_t nics = 0;
  double bandwidth = 0;  // bytes/s of each NIC
};
EvenNics even_nics(std::uint32_t gpus, std::uint32_t nics, double bandwidth);

// Keys of a node file, with their types and help texts.
std::vector<config::KeyRow> node_kind_keys();
// Content of a node file, by its name in the library or its path. Throws config::Error.
config::Value node_kind_tree(const std::string& name_or_path);
// Reads a node kind; missing speed and memory are those of its GPU file. Throws config::Error.
NodeKind read_node_kind(const config::Value& tree, const std::string& name);

// Node kind of the library; each file is read once. Throws config::Error that lists the names.
const NodeKind& find_node_kind(const std::string& name);
std::vector<std::string> node_kind_names();
std::string_view latency_source();

struct NodeGroup {
  const NodeKind* kind = nullptr;
  std::uint32_t count = 1;
};

// Settings for generating the platform file of a cluster: its nodes and its fabric.
struct PlatformRequest {
  std::vector<NodeGroup> nodes;
  std::string fabric = "rail";
  double oversubscription = 1;       // at the uplinks of a leaf (dragonfly: out of a group)
  double core_oversubscription = 1;  // fat-tree: at the uplinks of a pod
  // Number of spines above the leaves of a pod, each with its own cables (fat-tree: for each pod,
  // with the same number of cores above). 0 merges all cables of a leaf into one link.
  std::uint32_t spines = 0;
  std::uint32_t planes = 1;      // rail, fat-tree: number of networks in which each NIC has a port
  std::uint32_t leaf_nodes = 0;  // nodes per leaf; 0 for the default of the fabric
  std::uint32_t pod_leaves = 4;  // fat-tree: leaves (with rails: leaf groups) per pod
  std::uint32_t group_leaves = 4;         // dragonfly: leaves per group
  std::vector<std::uint32_t> dimensions;  // torus; empty for dimensions close to a cube
  std::string made_by;                    // command line, recorded in the file
};

}  // namespace pipewright::cluster
