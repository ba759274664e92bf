#include "sim/execution/streams.hpp"

#include <algorithm>

namespace pipewright::execution {

double paired_seconds(const StreamWork& first, const StreamWork& second, double slowdown) {
  const double compute = first.compute + second.compute;
  const double dispatch = first.dispatch + second.dispatch;
  const double longest = std::max({compute + dispatch * (1 - 1 / slowdown), dispatch,
                                   first.alone() - first.apart, second.alone() - second.apart});
  return std::min(longest, first.alone() + second.alone());
}

double paired_seconds(const StreamHalves& first, const StreamHalves& second, double slowdown) {
  return paired_seconds(first[0], second[0], slowdown) +
         paired_seconds(first[1], second[1], slowdown);
}

}  // namespace pipewright::execution
