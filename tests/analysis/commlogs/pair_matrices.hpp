#pragma once

#include <cstdint>
#include <string>

#include "analysis/commlogs/pair_matrix.hpp"

namespace pipewright::analysis::test {

// Returns bandwidth and latency between all pairs of GPUs in `nodes` nodes of `gpus` GPUs: 100 GB/s
// and 2 us within a node, 10 GB/s and 10 us between GPUs of equal index in two nodes (a rail), and
// 12 us between all others.
inline PairMatrix nodes_of_gpus(std::uint32_t nodes, std::uint32_t gpus) {
  PairMatrix matrix;
  matrix.classes = {
      {.where = "in a node", .links = "nvlink", .bandwidth = 100e9, .latency = 2e-6},
      {.where = "same rail", .links = "nic", .bandwidth = 10e9, .latency = 10e-6},
      {.where = "other rail", .links = "nic + leaf-spine", .bandwidth = 10e9, .latency = 12e-6}};
  const std::uint32_t n = nodes * gpus;
  for (std::uint32_t i = 0; i < n; ++i) {
    matrix.names.push_back("gpu-" + std::to_string(i));
    matrix.nodes.push_back(i / gpus);
    for (std::uint32_t j = 0; j < n; ++j) {
      const bool is_same_node = i / gpus == j / gpus;
      const std::uint32_t number = is_same_node ? 0 : i % gpus == j % gpus ? 1 : 2;
      matrix.class_of.push_back(i == j ? PairMatrix::itself : number);
      if (i == j) continue;
      PairClass& pair_class = matrix.classes[number];
      if (pair_class.pairs++ == 0) {
        pair_class.sender = "gpu-" + std::to_string(i);
        pair_class.receiver = "gpu-" + std::to_string(j);
      }
    }
  }
  matrix.pairs = std::uint64_t{n} * (n - 1);
  return matrix;
}

}  // namespace pipewright::analysis::test
