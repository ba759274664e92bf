#pragma once

#include <functional>
#include <span>
#include <vector>

// Robust least squares: fits unknowns of a model to measurements with outliers.
namespace pipewright::comm {

// Default weight of the Gaussian prior, which decides where measurements say little: the scatter of
// rows (4 %) over the scatter of the unknowns (a factor of 7, which is 2 in a logarithm).
inline constexpr double weak_prior = 0.02;

// An unknown number of a fit, on a scale on which equal steps are equally significant and a step of
// 1 is large.
struct Unknown {
  double start = 0;
  double minimum = 0;
  double maximum = 0;
  double prior = 0;  // value without measurements
  double prior_weight =
      weak_prior;         // weight of the prior: scatter of rows over that of the unknown
  double prior_rows = 1;  // the prior counts as this many rows
};

// Function that returns the residual of each measurement, log(predicted / measured).
using Residuals = std::function<std::vector<double>(std::span<const double> unknowns)>;

// Residual above which the loss grows linearly instead of quadratically, to limit outliers.
inline constexpr double robust_scale = 0.1;

// Loss of a residual r, with C = robust_scale: the soft L1 loss C^2 (sqrt(1 + (r/C)^2) - 1), about
// r^2/2 for small r and C |r| for large r (Charbonnier et al. 1997; Triggs et al., Bundle
// Adjustment, 2000, section 3.3).
double robust_loss(double residual);

// Matrix in column-major order.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values = std::vector<double>(rows * columns);

  double& operator()(std::size_t row, std::size_t column) { return values[row + column * rows]; }
  double operator()(std::size_t row, std::size_t column) const {
    return values[row + column * rows];
  }
  std::span<const double> column(std::size_t index) const {
    return std::span(values).subspan(index * rows, rows);
  }
};

double dot(std::span<const double> a, std::span<const double> b);

// Returns the factors of the columns whose weighted sum is nearest to `vector`; of several
// solutions, the one with the smallest norm.
std::vector<double> nearest_multiples(const Matrix& columns, std::span<const double> vector);

struct LeastSquares {
  std::vector<double> unknowns;
  std::vector<double> residuals;
  // weights of the residuals, at most 1: derivative of the loss over r
  std::vector<double> weights;
  Matrix jacobian;  // one row per residual, one column per unknown
  double cost = 0;  // sum of the losses and of the prior

  // Covariance of the unknowns in a least-squares fit with these weights.
  Matrix covariance() const;
  // Standard deviation of the measurements without outliers, estimated from the weighted residuals.
  double deviation() const;
  // Jacobian with every row multiplied by the square root of its weight.
  Matrix weighted_jacobian() const;
};

// Fits by the Levenberg-Marquardt method (Eigen's, after MINPACK) with finite differences; steps
// are cut off at the bounds. Starts at the unknowns' `start` and stops when a step lowers the cost
// by a smaller fraction than `tolerance`.
LeastSquares least_squares(const Residuals& residuals, std::span<const Unknown> unknowns,
                           double tolerance = 1e-7);

// Runs least_squares() from `start` and from `starts` further points within 1 of it, always the
// same ones, and returns the best result.
LeastSquares least_squares_from_many(const Residuals& residuals, std::span<const Unknown> unknowns,
                                     int starts);

}  // namespace pipewright::comm
