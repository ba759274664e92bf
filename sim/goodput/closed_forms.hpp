#pragma once

#include <cmath>

// Formulas for the interval of checkpoints, and for the time lost, under exponential failures at a
// constant rate. Times are in seconds.
namespace pipewright::goodput {

// Young's interval (1974), sqrt(2 w M): the best time between checkpoints of duration `stall`.
inline double young_interval(double stall, double mean_between_failures) {
  return std::sqrt(2 * stall * mean_between_failures);
}

// Daly's interval (2006, equation 37): the best time between checkpoints of duration `stall`. It is
// the mean time between failures if `stall` is at least twice as long.
inline double daly_interval(double stall, double mean_between_failures) {
  const double mean = mean_between_failures;
  if (stall >= 2 * mean) return mean;
  const double part = stall / (2 * mean);
  return young_interval(stall, mean) * (1 + std::sqrt(part) / 3 + part / 9) - stall;
}

// Fraction of time spent on training that lasts, if a job checkpoints every `interval` and restarts
// for `restart`. Failures can also hit checkpoints and restarts. A segment of training and
// checkpoint takes e^(R/M) M (e^((t+w)/M) - 1) (Daly 2006, equation 20).
inline double exact_ratio(double interval, double stall, double restart,
                          double mean_between_failures) {
  const double mean = mean_between_failures;
  return interval / (std::exp(restart / mean) * mean * std::expm1((interval + stall) / mean));
}

// First-order approximation of exact_ratio(): (1 - (u + D/2) / M) / (1 + w/D) (arXiv 2410.21680,
// equation 1).
inline double first_order_ratio(double interval, double stall, double restart,
                                double mean_between_failures) {
  return (1 - (restart + interval / 2) / mean_between_failures) / (1 + stall / interval);
}

}  // namespace pipewright::goodput
