#include "analysis/commlogs/pair_matrix.hpp"

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

std::vector<CellBlock> blocks_of(const PairMatrix& matrix) {
  const std::size_t n = matrix.size();
  std::map<std::uint32_t, std::size_t> count;
  for (const std::uint32_t number : matrix.class_of) ++count[number];
  std::vector<CellBlock> blocks;
  if (count.empty()) return blocks;
  const std::uint32_t ground =
      std::ranges::max_element(count, {}, [](auto& one) { return one.second; })->first;
  blocks.push_back({ground, 0, 0, n, n});
  // Equal runs of cells in rows that follow one another are one block.
  using Run = std::pair<std::size_t, std::size_t>;
  std::map<std::pair<std::uint32_t, Run>, std::size_t> open;  // to their places in `blocks`
  for (std::size_t row = 0; row < n; ++row) {
    std::map<std::pair<std::uint32_t, Run>, std::size_t> here;
    for (std::size_t begin = 0; begin < n;) {
      const std::uint32_t number = matrix.at(row, begin);
      std::size_t end = begin + 1;
      while (end < n && matrix.at(row, end) == number) ++end;
      if (number != ground) {
        const std::pair key{number, Run{begin, end}};
        const auto above = open.find(key);
        if (above == open.end()) {
          here.emplace(key, blocks.size());
          blocks.push_back({number, begin, row, end, row + 1});
        } else {
          here.emplace(*above);
          blocks[above->second].bottom = row + 1;
        }
      }
      begin = end;
    }
    open = std::move(here);
  }
  std::stable_sort(blocks.begin() + 1, blocks.end(),
                   [](auto& a, auto& b) { return a.number < b.number; });
  return blocks;
}

PairMatrix some_of(const PairMatrix& matrix, std::size_t most) {
  if (matrix.size() <= most) return matrix;
  PairMatrix found{.classes = matrix.classes, .pairs = matrix.pairs};
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < most; ++i) rows.push_back(i * matrix.size() / most);
  for (const std::size_t i : rows) {
    found.names.push_back(matrix.names[i]);
    found.nodes.push_back(matrix.nodes[i]);
    for (const std::size_t j : rows) found.class_of.push_back(matrix.at(i, j));
  }
  return found;
}

}  // namespace pipewright::analysis
