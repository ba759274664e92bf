#pragma once

#include <cstdint>
#include <vector>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {

// Two binary trees over `roots`, each for half of the bytes, up and down (Sanders, Speck and Traeff
// 2009): whoever is an inner node in one is a leaf in the other.
std::vector<Flow> double_tree(const std::vector<std::uint32_t>& roots, double bytes);

// Seconds of the longest way from a GPU through the chain of its node, up one of the trees, and
// back down.
ByProtocol up_and_down(const Nodes& nodes, const Places& places);

}  // namespace pipewright::execution
