#pragma once

#include <span>
#include <vector>

namespace pipewright::workload {

// What a row's time is made of, and the time.
struct FitRow {
  std::vector<double> terms;
  double seconds = 0;
  double known = 0;  // of them, what no term stands for
};

// The coefficients, none below its `least`, with which the sums of terms come nearest to the times:
// the sum of relative errors is least, so that rows far off do little harm. Found by weighted least
// squares again and again (Holland and Welsch 1977), each within the bounds (Gauss-Seidel,
// projected).
std::vector<double> fit_terms(std::span<const FitRow> rows, std::span<const double> least);

}  // namespace pipewright::workload
