#include "sim/workload/kernel_table/robust_fit.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::workload {
namespace {

// Least squares of known_i + sum_j x_j a_ij = 1 with weights, as the normal equations of scaled
// unknowns.
std::vector<double> solve(std::span<const FitRow> rows, std::span<const double> weights,
                          std::span<const double> least) {
  constexpr int sweeps = 2000;
  const std::size_t size = least.size();
  std::vector<double> squares(size * size);
  std::vector<double> right(size);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < size; ++j) {
      const double a = rows[i].terms[j] / rows[i].seconds;
      right[j] += weights[i] * a * (1 - rows[i].known / rows[i].seconds);
      for (std::size_t k = 0; k < size; ++k)
        squares[j * size + k] += weights[i] * a * rows[i].terms[k] / rows[i].seconds;
    }
  std::vector<double> x(least.begin(), least.end());
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (std::size_t j = 0; j < size; ++j) {
      const double square = squares[j * size + j];
      if (square == 0) continue;
      double rest = right[j];
      for (std::size_t k = 0; k < size; ++k) rest -= squares[j * size + k] * x[k];
      x[j] = std::max(least[j], x[j] + rest / square);
    }
  return x;
}

}  // namespace

std::vector<double> fit_terms(std::span<const FitRow> rows, std::span<const double> least) {
  constexpr int rounds = 50;
  constexpr double exact = 0.01;  // relative errors below count as squares
  std::vector<double> weights(rows.size(), 1);
  std::vector<double> x;
  for (int round = 0; round < rounds; ++round) {
    x = solve(rows, weights, least);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double sum = rows[i].known;
      for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * rows[i].terms[j];
      weights[i] = 1 / std::max(std::abs(sum / rows[i].seconds - 1), exact);
    }
  }
  return x;
}

}  // namespace pipewright::workload
