#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/commlogs/reports/fit_report.hpp"
#include "sim/comm/selection.hpp"

// Estimates how well measurements determine the unknowns of a fit.
namespace pipewright::comm {

// Two chosen candidates that the measurements hardly tell apart: their errors have a correlation
// above 0.95.
struct IndistinctPair {
  std::size_t first;
  std::size_t second;
  double correlation;
};
std::vector<IndistinctPair> find_indistinct(const Selection& selection);

struct Unchosen {
  std::size_t candidate;
  analysis::KeptBecause reason;
  std::optional<std::size_t> nearest;  // most similar chosen candidate
};
std::vector<Unchosen> explain_unchosen(const ChoiceResiduals& residuals,
                                       std::span<const Unknown> candidates,
                                       const Selection& selection);

// Standard deviation of the residuals, insensitive to outliers: that of a normal distribution with
// the same median absolute value, corrected for the degrees of freedom.
double median_deviation(const LeastSquares& fit);

struct Interval {
  double low = 0;
  double high = 0;
};

// 68 % interval of each unknown, if the errors of rows are independent: the range in which the best
// fit of all other unknowns costs at most one squared standard deviation more (profile likelihood;
// Venzon and Moolgavkar, Applied Statistics 37 (1988) 87). Unlike a standard error it distinguishes
// a bound from a value, such as "at most" if every smaller value fits equally well.
std::vector<Interval> intervals(const Residuals& residuals, std::span<const Unknown> unknowns,
                                const LeastSquares& best);

}  // namespace pipewright::comm
