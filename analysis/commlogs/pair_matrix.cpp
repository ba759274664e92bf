#include "analysis/commlogs/pair_matrix.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace pipewright::analysis {

PairMatrix by_node(const PairMatrix& by_gpu) {
  PairMatrix by_node_matrix;
  // Maps each node number to its row in the new matrix; rows follow the order of first GPUs.
  std::map<std::uint32_t, std::uint32_t> node_index;
  std::vector<std::uint32_t> row;
  for (const std::uint32_t node : by_gpu.nodes) {
    const auto [entry, is_new] =
        node_index.emplace(node, static_cast<std::uint32_t>(node_index.size()));
    if (is_new) {
      by_node_matrix.names.push_back(fmt::format("node {}", node));
      by_node_matrix.nodes.push_back(node);
    }
    row.push_back(entry->second);
  }
  by_node_matrix.classes = by_gpu.classes;
  for (PairClass& pair_class : by_node_matrix.classes) pair_class.pairs = 0;
  const std::size_t n = by_node_matrix.size();
  by_node_matrix.class_of.assign(n * n, PairMatrix::itself);
  const auto is_worse = [&](std::uint32_t first, std::uint32_t second) {
    const PairClass& a = by_node_matrix.classes[first];
    const PairClass& b = by_node_matrix.classes[second];
    return a.bandwidth != b.bandwidth ? a.bandwidth < b.bandwidth : a.latency > b.latency;
  };
  for (std::size_t i = 0; i < by_gpu.size(); ++i)
    for (std::size_t j = 0; j < by_gpu.size(); ++j) {
      const std::uint32_t class_number = by_gpu.at(i, j);
      std::uint32_t& worst = by_node_matrix.class_of[row[i] * n + row[j]];
      if (class_number != PairMatrix::itself &&
          (worst == PairMatrix::itself || is_worse(class_number, worst)))
        worst = class_number;
    }
  for (const std::uint32_t class_number : by_node_matrix.class_of)
    if (class_number != PairMatrix::itself) ++by_node_matrix.classes[class_number].pairs;
  by_node_matrix.pairs = n * n;
  return by_node_matrix;
}

std::vector<CellBlock> cut_into_blocks(const PairMatrix& matrix) {
  const std::size_t n = matrix.size();
  std::map<std::uint32_t, std::size_t> count;
  for (const std::uint32_t number : matrix.class_of) ++count[number];
  std::vector<CellBlock> blocks;
  if (count.empty()) return blocks;
  const std::uint32_t background =
      std::ranges::max_element(count, {}, [](auto& entry) { return entry.second; })->first;
  blocks.push_back({background, 0, 0, n, n});
  // Consecutive rows that have the same class in the same columns form one block.
  using Run = std::pair<std::size_t, std::size_t>;
  // Maps each run of equal cells in the previous row (class, columns) to its index in `blocks`.
  std::map<std::pair<std::uint32_t, Run>, std::size_t> open_runs;
  for (std::size_t row = 0; row < n; ++row) {
    std::map<std::pair<std::uint32_t, Run>, std::size_t> row_runs;
    for (std::size_t begin = 0; begin < n;) {
      const std::uint32_t number = matrix.at(row, begin);
      std::size_t end = begin + 1;
      while (end < n && matrix.at(row, end) == number) ++end;
      if (number != background) {
        const std::pair key{number, Run{begin, end}};
        const auto above = open_runs.find(key);
        if (above == open_runs.end()) {
          row_runs.emplace(key, blocks.size());
          blocks.push_back({number, begin, row, end, row + 1});
        } else {
          row_runs.emplace(*above);
          blocks[above->second].bottom = row + 1;
        }
      }
      begin = end;
    }
    open_runs = std::move(row_runs);
  }
  std::stable_sort(blocks.begin() + 1, blocks.end(),
                   [](auto& a, auto& b) { return a.number < b.number; });
  return blocks;
}

PairMatrix sample_rows(const PairMatrix& matrix, std::size_t max_rows) {
  if (matrix.size() <= max_rows) return matrix;
  PairMatrix sample{.classes = matrix.classes, .pairs = matrix.pairs};
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < max_rows; ++i) rows.push_back(i * matrix.size() / max_rows);
  for (const std::size_t i : rows) {
    sample.names.push_back(matrix.names[i]);
    sample.nodes.push_back(matrix.nodes[i]);
    for (const std::size_t j : rows) sample.class_of.push_back(matrix.at(i, j));
  }
  return sample;
}

}  // namespace pipewright::analysis
