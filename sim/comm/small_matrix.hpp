#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pipewright::comm {

// A dense matrix of some tens of columns, row by row.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;

  Matrix(std::size_t rows_, std::size_t columns_)
      : rows(rows_), columns(columns_), values(rows_ * columns_) {}
  double& at(std::size_t row, std::size_t column) { return values[row * columns + column]; }
  double at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
};

// J^T W J, with a weight for each row.
Matrix normal_matrix(const Matrix& jacobian, std::span<const double> weights);

// Solves A x = b for a symmetric, positive definite A by Cholesky's decomposition. Pivots that
// rounding makes nothing of count as very small ones: x is then large where A says nothing.
std::vector<double> solve(const Matrix& a, std::span<const double> b);
Matrix inverse(const Matrix& a);

// Covariances as correlations: 1 on the diagonal.
Matrix correlations(const Matrix& covariance);

}  // namespace pipewright::comm
