#include "sim/execution/streams.hpp"

#include <algorithm>

namespace pipewright::execution {

double paired_seconds(const StreamWork& one, const StreamWork& other, double slowdown) {
  const double compute = one.compute + other.compute;
  const double dispatch = one.dispatch + other.dispatch;
  const double longest = std::max({compute + dispatch * (1 - 1 / slowdown), dispatch,
                                   one.alone() - one.apart, other.alone() - other.apart});
  return std::min(longest, one.alone() + other.alone());
}

double paired_seconds(const StreamHalves& one, const StreamHalves& other, double slowdown) {
  return paired_seconds(one[0], other[0], slowdown) + paired_seconds(one[1], other[1], slowdown);
}

}  // namespace pipewright::execution
