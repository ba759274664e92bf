#include "analysis/comm/matrix_cells.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace pipewright::analysis {

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
