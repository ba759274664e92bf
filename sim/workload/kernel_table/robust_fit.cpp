#include "sim/workload/kernel_table/robust_fit.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::workload {
namespace {

// Solves a weighted least-squares problem: finds x, each x_j above its lower bound, so that
// (fixed_i + sum_j x_j terms_ij) / seconds_i is as close as possible to 1 for all rows i. Uses
// projected Gauss-Seidel on the normal equations.
std::vector<double> solve_weighted(std::span<const FitRow> rows, std::span<const double> weights,
                                   std::span<const double> lower_bounds) {
  constexpr int sweeps = 2000;
  const std::size_t size = lower_bounds.size();
  std::vector<double> squares(size * size);
  std::vector<double> right_side(size);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < size; ++j) {
      const double a = rows[i].terms[j] / rows[i].seconds;
      right_side[j] += weights[i] * a * (1 - rows[i].fixed / rows[i].seconds);
      for (std::size_t k = 0; k < size; ++k)
        squares[j * size + k] += weights[i] * a * rows[i].terms[k] / rows[i].seconds;
    }
  std::vector<double> x(lower_bounds.begin(), lower_bounds.end());
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (std::size_t j = 0; j < size; ++j) {
      const double square = squares[j * size + j];
      if (square == 0) continue;
      double residual = right_side[j];
      for (std::size_t k = 0; k < size; ++k) residual -= squares[j * size + k] * x[k];
      x[j] = std::max(lower_bounds[j], x[j] + residual / square);
    }
  return x;
}

}  // namespace

std::vector<double> fit_terms(std::span<const FitRow> rows, std::span<const double> lower_bounds) {
  constexpr int rounds = 50;
  constexpr double smallest_error = 0.01;  // smaller relative errors get no larger weight
  std::vector<double> weights(rows.size(), 1);
  std::vector<double> x;
  for (int round = 0; round < rounds; ++round) {
    x = solve_weighted(rows, weights, lower_bounds);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double sum = rows[i].fixed;
      for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * rows[i].terms[j];
      weights[i] = 1 / std::max(std::abs(sum / rows[i].seconds - 1), smallest_error);
    }
  }
  return x;
}

}  // namespace pipewright::workload
