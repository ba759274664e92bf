#pragma once

#include <ostream>
#include <string>

#include "analysis/commlogs/pair_matrix.hpp"

namespace pipewright::analysis {

struct MatrixReport {
  std::string cluster;
  // Size of the messages whose bandwidth is shown; 0 for endless messages.
  std::uint64_t message = 0;
  PairMatrix by_gpu;
  PairMatrix matrix;  // The matrix to show: by_gpu or its nodes.
  Contention contention;
};

// Shows the classes of pairs of GPUs (by distance, link classes, bandwidth and latency), the
// matrices of bandwidth and latency if all pairs were examined and a matrix has at most 16 rows,
// and the rates under contention: bisection and permutations.
std::string matrix_text(const MatrixReport& report);
// Writes everything as JSON, including whole matrices of class numbers and the worst permutation.
std::string matrix_json(const MatrixReport& report);
// Writes the matrix to show as CSV, one line per pair. The matrix must be whole.
void write_matrix_csv(const MatrixReport& report, std::ostream& out);

}  // namespace pipewright::analysis
