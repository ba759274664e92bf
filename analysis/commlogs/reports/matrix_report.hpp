#pragma once

#include <ostream>
#include <string>

#include "analysis/commlogs/pair_matrix.hpp"

namespace pipewright::analysis {

struct MatrixReport {
  std::string cluster;
  std::uint64_t message = 0;  // bytes of a message, whose bandwidth is told; 0: endless
  PairMatrix by_gpu;
  PairMatrix matrix;  // what is shown: the same, or by node
  Contention contention;
};

// Classes of pairs, the matrices themselves up to 16 rows, and what all get at once.
std::string matrix_text(const MatrixReport& report);
// All of it, whole matrices as numbers of classes, and the worst permutation.
std::string matrix_json(const MatrixReport& report);
// A line for each pair of a whole matrix.
void write_matrix_csv(const MatrixReport& report, std::ostream& out);

}  // namespace pipewright::analysis
