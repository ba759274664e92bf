#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/comparison.hpp"

namespace pipewright::analysis {

struct CurveReport {
  ComparedCurve curve;
  ErrorSummary errors;
  std::optional<AssumptionCheck> assumption;
};

// Predictions that nearly all err to one side: at least 9 of 10 rows of at least 4, the median by
// 10 % or more.
struct OneSided {
  std::string sizes;  // "up to 64 KiB"; empty: all
  double bias = 0;    // median error: -0.25 where predicted times are 25 % too short
  std::size_t rows = 0;
  std::size_t of = 0;
};

// How far predictions are from logs.
struct CompareReport {
  std::string cluster;
  std::vector<CurveReport> curves;
  ErrorSummary errors;              // of all rows
  std::vector<SizeRange> by_size;   // of all rows
  std::vector<OneSided> one_sided;  // of all rows, or else of ranges of sizes
  std::optional<double> assumed;    // bus bandwidth, bytes/s
  std::vector<LogRemark> remarks;
};

CompareReport compare_report(std::string cluster, std::span<const ComparedRow> rows,
                             std::optional<double> assumed = {},
                             std::vector<LogRemark> remarks = {});

}  // namespace pipewright::analysis
