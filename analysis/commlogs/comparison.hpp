#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/measurement.hpp"

namespace pipewright::analysis {

// One measured row of a benchmark table, with the time that the simulation predicts for it.
struct ComparedRow {
  Measurement measured;
  double predicted = 0;   // Seconds.
  std::string method;     // Algorithm and protocol of the prediction: "ring, LL128".
  bool held_out = false;  // The row was not used to fit parameters.

  // Returns the relative error of the predicted time; 0.1 means 10 % longer than measured.
  double error() const { return predicted / measured.seconds - 1; }
};

// Distribution of the errors of several rows. All but the bias are statistics of absolute errors;
// the 90th percentile is interpolated linearly between rows.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0;
  double p90 = 0;
  double largest = 0;
  double bias = 0;  // Median of the signed errors.
};
ErrorSummary summarize(std::span<const ComparedRow> rows);

// One line of a chart: all rows with the same operation, number of ranks, number of nodes,
// placement of buffers (in place or not) and log file.
struct ComparedCurve {
  std::string name;               // "all-reduce, 16 ranks on 2 nodes"
  std::vector<ComparedRow> rows;  // Ordered by bytes.
};
std::vector<ComparedCurve> group_into_curves(std::span<const ComparedRow> rows);

// Predicted time at one size of a curve. The size need not be one that was measured.
struct CurvePoint {
  std::uint64_t bytes = 0;
  double seconds = 0;
};

struct DrawnCurve {
  ComparedCurve compared;
  // Predicted points, ordered by bytes. If empty, the predictions of the measured rows are drawn.
  std::vector<CurvePoint> predicted;
};

// Errors of all rows whose message sizes lie within one range. The ranges end at 64 KiB, 1 MiB, 16
// MiB and 256 MiB; the last one has no upper end.
struct SizeRange {
  std::string name;
  ErrorSummary errors;
};
// Returns the errors of each size range that has rows.
std::vector<SizeRange> errors_by_size(std::span<const ComparedRow> rows);

// Run of consecutive sizes of a curve at which an assumed bus bandwidth is always too high, or
// always too low.
struct DeviationRange {
  std::uint64_t from = 0;  // In bytes.
  std::uint64_t to = 0;
  std::size_t rows = 0;
  double min_ratio = 0;  // Smallest and largest ratio of assumed to actual bus bandwidth.
  double max_ratio = 0;
};

// An assumed bandwidth counts as right up to this relative deviation from the actual one.
inline constexpr double tolerated_deviation = 0.1;

// Sizes at which an assumption such as "all-reduces over 16 GPUs run at 180 GB/s" deviates by more
// than tolerated_deviation.
struct AssumptionCheck {
  // Ranges of sizes at which the assumed bus bandwidth deviates from the measured one, and from the
  // predicted one.
  std::vector<DeviationRange> measured;
  std::vector<DeviationRange> predicted;
};
AssumptionCheck check_assumption(const ComparedCurve& curve, double bus_bandwidth);

// Returns the bus bandwidth in bytes/s, as nccl-tests defines it.
double bus_bandwidth(const Measurement& row, double seconds);

}  // namespace pipewright::analysis
