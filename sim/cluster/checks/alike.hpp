#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace pipewright::cluster {

// GPUs whose ways to all others are alike, so that one of them stands for all: 16,384 GPUs of a
// made fabric are a few hundred groups. Where they have links of their own, those of another member
// are the first on its ways out and the last on its ways in.
struct AlikeGroup {
  std::uint64_t number = 0;            // the same of GPUs that are alike, whichever were asked of
  std::vector<std::uint32_t> members;  // positions in the list of GPUs
  bool has_own_link = false;
};

// Groups of `which` of the GPUs, in order of their first: as other nodes see them (`across`), or
// the others of their node. Those of a node in `apart` are in no group with those of another.
std::vector<AlikeGroup> alike_groups(const Cluster& cluster, std::span<Host* const> gpus,
                                     std::span<const std::uint32_t> which, bool across,
                                     std::span<const std::uint32_t> apart = {});

}  // namespace pipewright::cluster
