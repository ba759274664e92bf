#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/commlogs/reports/fit_report.hpp"
#include "sim/comm/selection.hpp"

// What measurements can tell of a model's unknowns, and what not.
namespace pipewright::comm {

// Chosen candidates whose errors go together, by a correlation above 0.95.
struct IndistinctPair {
  std::size_t one;
  std::size_t other;
  double correlation;
};
std::vector<IndistinctPair> indistinct(const Selection& selection);

struct Unchosen {
  std::size_t candidate;
  analysis::KeptBecause why;
  std::optional<std::size_t> like;  // the chosen one that is most like it
};
std::vector<Unchosen> look_at_unchosen(const ChoiceResiduals& residuals,
                                       std::span<const Unknown> candidates,
                                       const Selection& selection);

// Of the residuals: the standard deviation of a normal distribution that has their median absolute
// value, with the degrees of freedom that the unknowns took.
double median_deviation(const LeastSquares& fit);

struct Interval {
  double low = 0;
  double high = 0;
};

// Where each unknown may be with a likelihood of 68 %, if rows miss the model independently of each
// other: until the best that all others can make of it costs one squared standard deviation more
// (profile likelihood; Venzon and Moolgavkar, Applied Statistics 37 (1988) 87). Unlike a standard
// error it tells a bound from a value: "at most", where anything less would do as well.
std::vector<Interval> intervals(const Residuals& residuals, std::span<const Unknown> unknowns,
                                const LeastSquares& best);

}  // namespace pipewright::comm
