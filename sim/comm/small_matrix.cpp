#include "sim/comm/small_matrix.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::comm {
namespace {

// The lower triangle L of L L^T = A, after its diagonal was scaled to 1, which keeps unknowns of
// very different sensitivity apart from those of none.
struct Cholesky {
  Matrix lower;
  std::vector<double> scale;

  explicit Cholesky(const Matrix& a) : lower(a.rows, a.rows), scale(a.rows, 1) {
    constexpr double least_pivot = 1e-13;
    for (std::size_t i = 0; i < a.rows; ++i)
      if (a.at(i, i) > 0) scale[i] = 1 / std::sqrt(a.at(i, i));
    for (std::size_t i = 0; i < a.rows; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = a.at(i, j) * scale[i] * scale[j];
        for (std::size_t k = 0; k < j; ++k) sum -= lower.at(i, k) * lower.at(j, k);
        lower.at(i, j) = i == j ? std::sqrt(std::max(sum, least_pivot)) : sum / lower.at(j, j);
      }
  }

  std::vector<double> solve(std::span<const double> b) const {
    std::vector<double> x(b.begin(), b.end());
    const std::size_t n = x.size();
    for (std::size_t i = 0; i < n; ++i) {
      x[i] *= scale[i];
      for (std::size_t k = 0; k < i; ++k) x[i] -= lower.at(i, k) * x[k];
      x[i] /= lower.at(i, i);
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) x[i] -= lower.at(k, i) * x[k];
      x[i] /= lower.at(i, i);
    }
    for (std::size_t i = 0; i < n; ++i) x[i] *= scale[i];
    return x;
  }
};

}  // namespace

Matrix normal_matrix(const Matrix& jacobian, std::span<const double> weights) {
  Matrix sum(jacobian.columns, jacobian.columns);
  for (std::size_t row = 0; row < jacobian.rows; ++row)
    for (std::size_t i = 0; i < jacobian.columns; ++i)
      for (std::size_t j = 0; j < jacobian.columns; ++j)
        sum.at(i, j) += weights[row] * jacobian.at(row, i) * jacobian.at(row, j);
  return sum;
}

std::vector<double> solve(const Matrix& a, std::span<const double> b) {
  return Cholesky(a).solve(b);
}

Matrix inverse(const Matrix& a) {
  const Cholesky factor(a);
  Matrix result(a.rows, a.rows);
  std::vector<double> unit(a.rows);
  for (std::size_t column = 0; column < a.rows; ++column) {
    unit[column] = 1;
    const std::vector<double> x = factor.solve(unit);
    unit[column] = 0;
    for (std::size_t row = 0; row < a.rows; ++row) result.at(row, column) = x[row];
  }
  return result;
}

Matrix correlations(const Matrix& covariance) {
  Matrix result = covariance;
  for (std::size_t i = 0; i < covariance.rows; ++i)
    for (std::size_t j = 0; j < covariance.rows; ++j)
      result.at(i, j) /= std::sqrt(covariance.at(i, i) * covariance.at(j, j));
  return result;
}

}  // namespace pipewright::comm
