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

// A group of predictions that nearly all err to the same side: at least 9 of 10 of at least 4 rows,
// with a median error of 10 % or more.
struct OneSided {
  std::string sizes;  // "up to 64 KiB"; empty for all sizes.
  double bias = 0;    // Median error: -0.25 if predicted times are 25 % too short.
  std::size_t rows = 0;
  std::size_t row_count = 0;
};

// Comparison of predicted times with those of benchmark logs.
struct CompareReport {
  std::string cluster;
  std::vector<CurveReport> curves;
  ErrorSummary errors;              // Errors of all rows.
  std::vector<SizeRange> by_size;   // Errors of all rows, by size.
  std::vector<OneSided> one_sided;  // Findings for all rows, otherwise for ranges of sizes.
  std::optional<double> assumed;    // Assumed bus bandwidth, in bytes/s.
  std::vector<LogRemark> remarks;
};

CompareReport compare_report(std::string cluster, std::span<const ComparedRow> rows,
                             std::optional<double> assumed = {},
                             std::vector<LogRemark> remarks = {});

}  // namespace pipewright::analysis
