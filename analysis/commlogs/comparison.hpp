#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/measurement.hpp"

namespace pipewright::analysis {

// A measured row and what was predicted for it.
struct ComparedRow {
  Measurement measured;
  double predicted = 0;   // seconds
  std::string by;         // how: "ring, LL128"
  bool held_out = false;  // not used to fit

  double error() const { return predicted / measured.seconds - 1; }  // 0.1: 10 % too slow
};

// Of the absolute values of errors; the 90th percentile is linear between rows.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0;
  double p90 = 0;
  double largest = 0;
  double bias = 0;  // median of the errors with their signs
};
ErrorSummary summarize(std::span<const ComparedRow> rows);

// Rows of one operation, number of ranks and nodes, in place or not, of one file: what belongs on
// one line of a chart.
struct ComparedCurve {
  std::string name;               // "all-reduce, 16 ranks on 2 nodes"
  std::vector<ComparedRow> rows;  // by bytes
};
std::vector<ComparedCurve> curves_of(std::span<const ComparedRow> rows);

// A prediction, also between what was measured.
struct CurvePoint {
  std::uint64_t bytes = 0;
  double seconds = 0;
};

struct DrawnCurve {
  ComparedCurve compared;
  std::vector<CurvePoint> predicted;  // by bytes; empty: those of the rows
};

// Errors by size: up to 64 KiB, to 1 MiB, to 16 MiB, to 256 MiB, and above; those without rows are
// left out.
struct SizeRange {
  std::string name;
  ErrorSummary errors;
};
std::vector<SizeRange> by_size(std::span<const ComparedRow> rows);

// Neighbouring sizes of a curve at which an assumed bus bandwidth is off to the same side.
struct OffRange {
  std::uint64_t from = 0;  // bytes
  std::uint64_t to = 0;
  std::size_t rows = 0;
  double least = 0;  // assumed over actual bus bandwidth
  double most = 0;
};

inline constexpr double tolerated = 0.1;  // by which an assumption may be off

// "All-reduces over 16 GPUs run at 180 GB/s": where that is off by more than 10 %.
struct AssumptionCheck {
  std::vector<OffRange> measured;  // against what was measured, and predicted
  std::vector<OffRange> predicted;
};
AssumptionCheck check_assumption(const ComparedCurve& curve, double bus_bandwidth);

// Bytes/s, with what nccl-tests multiply.
double bus_bandwidth(const Measurement& row, double seconds);

}  // namespace pipewright::analysis
