#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace pipewright::cluster {

// GPUs with equivalent routes to all other GPUs, so that one of them represents the group: 16,384
// GPUs of a generated fabric form a few hundred groups. If members have links of their own, that
// link is the first of their outgoing routes and the last of their incoming routes.
struct GpuGroup {
  std::uint64_t number = 0;  // identifies the equivalence class, independent of the selection
  std::vector<std::uint32_t> members;  // indices in the list of GPUs
  bool has_own_link = false;
};

// Groups the selected GPUs by their routes to other nodes (`across`) or inside their own node.
// Sorts the groups by their first member. GPUs of a node in `separate_nodes` are not grouped with
// GPUs of other nodes.
std::vector<GpuGroup> group_gpus(const Cluster& cluster, std::span<Host* const> gpus,
                                 std::span<const std::uint32_t> selection, bool across,
                                 std::span<const std::uint32_t> separate_nodes = {});

}  // namespace pipewright::cluster
