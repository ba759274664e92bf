#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/comm/measurement.hpp"

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

// Errors by size: up to 64 KiB, to 1 MiB, to 16 MiB, to 256 MiB, and above; those without rows are
// left out.
struct SizeRange {
  std::string name;
  ErrorSummary errors;
};
std::vector<SizeRange> by_size(std::span<const ComparedRow> rows);

}  // namespace pipewright::analysis
