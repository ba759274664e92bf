#pragma once

// What papers say of checkpoints, with failures that are exponential, at one rate. Times in
// seconds.
namespace pipewright::goodput {

// The best time between checkpoints that take `stall`: Young (1974), sqrt(2 w M).
double young_interval(double stall, double mean_between_failures);
// Daly (2006), equation 37; the mean itself where a checkpoint takes twice that or longer.
double daly_interval(double stall, double mean_between_failures);

// Of training that checkpoints every `interval`, restarts for `restart`, and fails while it does
// either: the part of the time that is training that lasts. A segment of training and checkpoint
// takes e^(R/M) M (e^((t+w)/M) - 1) (Daly 2006, equation 20).
double exact_ratio(double interval, double stall, double restart, double mean_between_failures);
// To first order: (1 - (u + D/2) / M) / (1 + w/D) (arXiv 2410.21680, equation 1).
double first_order_ratio(double interval, double stall, double restart,
                         double mean_between_failures);

}  // namespace pipewright::goodput
