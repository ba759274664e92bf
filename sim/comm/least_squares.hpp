#pragma once

#include <functional>
#include <span>
#include <vector>

// Numbers that make a model agree with measurements, of which some are wrong.
namespace pipewright::comm {

// What decides where measurements say little is a Gaussian prior: usual numbers may be wrong by a
// factor of 7 (2 in a logarithm) where rows scatter by 4 %. Their ratio:
inline constexpr double little_pull = 0.02;

// An unknown, in a scale in which steps of 1 are large and equal ones alike.
struct Unknown {
  double start = 0;
  double least = 0;
  double most = 0;
  double usual = 0;           // what it is if no measurement says otherwise
  double pull = little_pull;  // to that: the scatter of rows over that of the unknown
  double times = 1;           // as so many rows
};

// What the model misses each measurement by, log(predicted / measured).
using Residuals = std::function<std::vector<double>(std::span<const double> unknowns)>;

// Beyond this a residual counts by its size, and no longer by its square.
inline constexpr double robust_scale = 0.1;

// The soft L1 loss C^2 (sqrt(1 + (r/C)^2) - 1), about r^2/2 where r is small and C |r| where it is
// large (Charbonnier et al. 1997; Triggs et al., Bundle Adjustment, 2000, section 3.3).
double robust_loss(double residual);

// Numbers by row and column, a column after the other.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values = std::vector<double>(rows * columns);

  double& operator()(std::size_t row, std::size_t column) { return values[row + column * rows]; }
  double operator()(std::size_t row, std::size_t column) const {
    return values[row + column * rows];
  }
  std::span<const double> column(std::size_t one) const {
    return std::span(values).subspan(one * rows, rows);
  }
};

double dot(std::span<const double> one, std::span<const double> other);

// The multiples of the columns whose sum comes nearest to `vector`; of several, the least.
std::vector<double> nearest_multiples(const Matrix& columns, std::span<const double> vector);

struct LeastSquares {
  std::vector<double> unknowns;
  std::vector<double> residuals;
  std::vector<double> weights;  // of the residuals, 1 or less: derivative of the loss over r
  Matrix jacobian;              // of the residuals: a row each, a column for each unknown
  double cost = 0;              // sum of the losses, and of a pull to what is usual

  // What a least-squares fit with these weights says of its unknowns' uncertainty.
  Matrix covariance() const;
  // Of a row that is not an outlier: standard deviation, from the weighted residuals.
  double deviation() const;
  // The rows by the square roots of their weights.
  Matrix weighted_jacobian() const;
};

// Levenberg's and Marquardt's steps (Eigen's, after MINPACK) with differences for derivatives and
// steps cut off at the bounds, from where `unknowns` start, until one lowers the cost by a smaller
// part than `least`.
LeastSquares least_squares(const Residuals& residuals, std::span<const Unknown> unknowns,
                           double least = 1e-7);

// The best of that and of `more` starts elsewhere, within 1 of it, always the same ones.
LeastSquares least_squares_from_many(const Residuals& residuals, std::span<const Unknown> unknowns,
                                     int more);

}  // namespace pipewright::comm
