#pragma once

#include <span>
#include <vector>

namespace pipewright::workload {

// One measurement of a fit. Its time is modelled as a sum: seconds = fixed + sum of coefficients *
// terms.
struct FitRow {
  std::vector<double> terms;
  double seconds = 0;
  double fixed = 0;  // seconds that no term stands for
};

// Returns the coefficients, none below its lower bound, that minimize the sum of relative errors of
// the rows. Outliers therefore have little influence. The method is iteratively reweighted least
// squares (Holland and Welsch 1977), with projected Gauss-Seidel for the bounds.
std::vector<double> fit_terms(std::span<const FitRow> rows, std::span<const double> lower_bounds);

}  // namespace pipewright::workload
