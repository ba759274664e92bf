#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/comm/pair_matrix.hpp"

namespace pipewright::analysis {

// A rectangle of cells of one class: rows `top` to `bottom`, columns `left` to `right`, without the
// last ones.
struct CellBlock {
  std::uint32_t number = 0;  // of the class, or PairMatrix::itself
  std::size_t left = 0;
  std::size_t top = 0;
  std::size_t right = 0;
  std::size_t bottom = 0;
};

// Cuts a whole matrix into blocks, those of a class one after the other. First comes one block of
// everything, in the most frequent class; what follows lies on it.
std::vector<CellBlock> blocks_of(const PairMatrix& matrix);

// A matrix of at most so many rows, at equal distances.
PairMatrix some_of(const PairMatrix& matrix, std::size_t most);

}  // namespace pipewright::analysis
