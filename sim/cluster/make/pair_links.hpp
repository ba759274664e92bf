#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/cluster/make/node_kind.hpp"

// Links between the GPUs of nodes without a switch.
namespace pipewright::cluster {

// Number of links between each two GPUs, by the indices of both.
using LinkCounts = std::vector<std::vector<int>>;
LinkCounts link_counts(const NodeKind& kind);

// GPUs that relay between two GPUs without a common link, on the path with the fewest hops and,
// among these, with the most parallel links on its narrowest hop. Empty if the GPUs have a common
// link, or if no path joins them.
std::vector<std::uint32_t> relays_between(const LinkCounts& links, std::uint32_t a,
                                          std::uint32_t b);

// Returns whether GPUs of this kind without a common link communicate over links through other
// GPUs.
bool is_relaying(const NodeKind& kind);
// Returns whether some GPUs of a node without a switch communicate over PCIe.
bool has_pcie_pairs(const NodeKind& kind);

// Returns the position of each GPU in a wiring with a fixed table, cube_mesh or twin_mesh, in which
// every two GPUs have as many links as here; empty if there is none. If the file does not state how
// many links join two GPUs, `counts_known` is false, and it only matters whether there are any.
std::optional<std::vector<std::uint32_t>> places_in(NodeKind::Wiring wiring,
                                                    const LinkCounts& links,
                                                    bool counts_known = true);

}  // namespace pipewright::cluster
