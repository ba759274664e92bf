#pragma once

#include <cmath>

// What papers say of checkpoints, with failures that are exponential, at one rate. Times in
// seconds.
namespace pipewright::goodput {

// The best time between checkpoints that take `stall`: Young (1974), sqrt(2 w M).
inline double young_interval(double stall, double mean_between_failures) {
  return std::sqrt(2 * stall * mean_between_failures);
}

// Daly (2006), equation 37; the mean itself where a checkpoint takes twice that or longer.
inline double daly_interval(double stall, double mean_between_failures) {
  const double mean = mean_between_failures;
  if (stall >= 2 * mean) return mean;
  const double part = stall / (2 * mean);
  return young_interval(stall, mean) * (1 + std::sqrt(part) / 3 + part / 9) - stall;
}

// Of training that checkpoints every `interval`, restarts for `restart`, and fails while it does
// either: the part of the time that is training that lasts. A segment of training and checkpoint
// takes e^(R/M) M (e^((t+w)/M) - 1) (Daly 2006, equation 20).
inline double exact_ratio(double interval, double stall, double restart,
                          double mean_between_failures) {
  const double mean = mean_between_failures;
  return interval / (std::exp(restart / mean) * mean * std::expm1((interval + stall) / mean));
}

// To first order: (1 - (u + D/2) / M) / (1 + w/D) (arXiv 2410.21680, equation 1).
inline double first_order_ratio(double interval, double stall, double restart,
                                double mean_between_failures) {
  return (1 - (restart + interval / 2) / mean_between_failures) / (1 + stall / interval);
}

}  // namespace pipewright::goodput
