#include "analysis/report/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::analysis {

double quantile(std::vector<double> values, double probability) {
  std::ranges::sort(values);
  const double position = probability * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

double standard_deviation(const std::vector<double>& values, double mean) {
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return values.size() > 1 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) : 0;
}

}  // namespace pipewright::analysis
