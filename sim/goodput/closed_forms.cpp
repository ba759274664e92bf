#include "sim/goodput/closed_forms.hpp"

#include <cmath>

namespace pipewright::goodput {

double young_interval(double stall, double mean_between_failures) {
  return std::sqrt(2 * stall * mean_between_failures);
}

double daly_interval(double stall, double mean_between_failures) {
  const double mean = mean_between_failures;
  if (stall >= 2 * mean) return mean;
  const double part = stall / (2 * mean);
  return young_interval(stall, mean) * (1 + std::sqrt(part) / 3 + part / 9) - stall;
}

double exact_ratio(double interval, double stall, double restart, double mean_between_failures) {
  const double mean = mean_between_failures;
  return interval / (std::exp(restart / mean) * mean * std::expm1((interval + stall) / mean));
}

double first_order_ratio(double interval, double stall, double restart,
                         double mean_between_failures) {
  return (1 - (restart + interval / 2) / mean_between_failures) / (1 + stall / interval);
}

}  // namespace pipewright::goodput
