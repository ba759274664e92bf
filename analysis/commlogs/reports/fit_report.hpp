#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/comparison.hpp"

// Result of fitting a cluster's network model to measurements.
namespace pipewright::analysis {

struct FittedParameter {
  std::string name;   // "nvlink.latency"
  std::string unit;   // "s", "ratio", "steps"
  double before = 0;  // Value in the platform file.
  double value = 0;
  double low = 0;  // Bounds of the 68 % likelihood interval.
  double high = 0;
  bool open_low = false;  // The interval has no lower, or no upper, bound.
  bool open_high = false;
};

// Reason why the fit leaves a parameter at the value of the platform file.
enum class KeptBecause : std::uint8_t {
  no_trace,  // A factor of e changes the predictions by less than the measurements scatter.
  likeness,  // The parameter changes predictions in the same way as fitted parameters.
  no_gain,   // The parameter does not clearly improve predictions of held-out rows.
};
struct KeptParameter {
  std::string name;
  std::string unit;
  double value = 0;
  KeptBecause why = KeptBecause::no_gain;
  std::string like;  // Name of the most similar fitted parameter.
};

// Two fitted parameters whose combined effect the measurements determine better than each value.
struct Likeness {
  std::string first;
  std::string second;
  double correlation = 0;
};

// A test of the fit: some rows are held out, the model is fitted to all others, and the held-out
// rows are predicted with the platform file's values and with the fitted ones.
struct FitTrial {
  std::string way;    // Name of the held-out rows: "the upper half of sizes".
  std::string lacks;  // Reason why there are no such rows.
  std::vector<ComparedRow> before;
  std::vector<ComparedRow> after;
};
// Returns true if the fit raised the median error of the held-out rows by more than 5 % and 0.1
// percentage points.
bool is_worse(const FitTrial& trial);

struct FitReport {
  std::string cluster;
  std::vector<std::string> files;  // Names of the logs.
  std::vector<FittedParameter> fitted;
  std::vector<Likeness> alike;
  // Set if NCCL's choice of algorithms and protocols is computed from the file's values, not from
  // the fitted ones.
  bool keeps_expectations = false;
  std::vector<KeptParameter> kept;
  std::vector<FitTrial> trials;
  std::vector<ComparedRow> before;  // Rows predicted with the platform file's values.
  std::vector<ComparedRow> after;   // The same rows, predicted with the fitted values.
  double deviation = 0;  // Robust deviation of log(predicted / measured) of the fitted rows.
  // Indices of rows whose error exceeds both three times `deviation` and 5 %.
  std::vector<std::size_t> outliers;
};

// Summarizes the errors of the held-out rows, or of all other rows.
ErrorSummary errors_of(std::span<const ComparedRow> rows, bool held_out);

std::string parameter_text(double value, const std::string& unit);  // "2.41 us", "0.38"
// Returns the likelihood interval of a parameter, in us or without a unit: "2.3 to 2.5", "at most
// 2.5".
std::string interval_text(const FittedParameter& parameter);

std::string fit_text(const FitReport& report);
std::string fit_json(const FitReport& report);

}  // namespace pipewright::analysis
