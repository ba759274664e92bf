#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pipewright::analysis {

constexpr double seconds_per_hour = 3600;
constexpr double seconds_per_day = 24 * seconds_per_hour;

// Smallest and largest value over the devices of a run.
struct Range {
  double least = 0;
  double most = 0;
};

// One unit and number of decimals for all numbers of a column, so that they are easy to compare.
// The largest number has one to three digits before the point.
struct ColumnScale {
  double factor = 1;
  int decimals = 0;
  std::string unit;

  std::string operator()(double value) const;  // without the unit
  std::string operator()(Range value) const;   // "1.95..2.04", or one number if both are equal
};

ColumnScale time_scale(double largest, int digits);  // from seconds; significant digits
ColumnScale memory_scale(double largest);            // from bytes
ColumnScale rate_scale(double largest);              // from a rate per second

// Functions that format a single quantity in the unit that leaves one to three digits before the
// point.

std::string format_seconds(double s);                          // "2.274 s", "18.50 ms", "531 us"
std::string format_bytes(std::uint64_t bytes);                 // "24.0 MiB", "40.6 GiB"
std::string format_percent(double ratio);                      // "10.9 %" for 0.109
std::string format_rate(double per_s, std::string_view noun);  // "33.8 samples/s", "1.2 M tokens/s"

std::string format_scaled(double value);  // "2 T", "812 k"

// Formats a size without rounding, in the largest unit that gives a whole number: "8 B", "64 KiB",
// "1000 B".
std::string format_exact_bytes(std::uint64_t bytes);

std::string counted(std::uint64_t count, std::string_view noun);  // "1 device", "3 microbatches"

}  // namespace pipewright::analysis
