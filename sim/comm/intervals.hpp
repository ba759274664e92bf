#pragma once

#include <span>
#include <vector>

#include "sim/comm/least_squares.hpp"

namespace pipewright::comm {

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
