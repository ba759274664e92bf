#include "analysis/comm/pair_matrix.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace pipewright::analysis {

PairMatrix by_node(const PairMatrix& by_gpu) {
  PairMatrix found;
  std::map<std::uint32_t, std::uint32_t> place;  // of each node, in the order of its first GPU
  std::vector<std::uint32_t> row;
  for (const std::uint32_t node : by_gpu.nodes) {
    const auto [known, is_new] = place.emplace(node, static_cast<std::uint32_t>(place.size()));
    if (is_new) {
      found.names.push_back(fmt::format("node {}", node));
      found.nodes.push_back(node);
    }
    row.push_back(known->second);
  }
  found.classes = by_gpu.classes;
  for (PairClass& one : found.classes) one.pairs = 0;
  const std::size_t n = found.size();
  found.class_of.assign(n * n, PairMatrix::itself);
  const auto is_worse = [&](std::uint32_t one, std::uint32_t other) {
    const PairClass& a = found.classes[one];
    const PairClass& b = found.classes[other];
    return a.bandwidth != b.bandwidth ? a.bandwidth < b.bandwidth : a.latency > b.latency;
  };
  for (std::size_t i = 0; i < by_gpu.size(); ++i)
    for (std::size_t j = 0; j < by_gpu.size(); ++j) {
      const std::uint32_t here = by_gpu.at(i, j);
      std::uint32_t& worst = found.class_of[row[i] * n + row[j]];
      if (here != PairMatrix::itself && (worst == PairMatrix::itself || is_worse(here, worst)))
        worst = here;
    }
  for (const std::uint32_t one : found.class_of)
    if (one != PairMatrix::itself) ++found.classes[one].pairs;
  found.pairs = n * n;
  return found;
}

}  // namespace pipewright::analysis
