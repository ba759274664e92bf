#pragma once

#include <string>
#include <vector>

namespace pipewright::analysis {

struct Tick {
  double s;
  std::string label;
};

// Ticks from 0 to the end of a span, 1, 2 or 5 x 10^k units apart.
struct TimeTicks {
  std::vector<Tick> ticks;
  std::string unit;  // of the labels: s, ms, us or ns
};

// The least of 1, 2 or 5 x 10^k that is not below `least`.
double round_step(double least);

TimeTicks time_ticks(double span_s, int most);  // at most so many steps

}  // namespace pipewright::analysis
