#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/comparison.hpp"

// What a fit of a cluster's network model to measurements came to.
namespace pipewright::analysis {

struct FittedParameter {
  std::string name;   // "nvlink.latency"
  std::string unit;   // "s", "ratio", "steps"
  double before = 0;  // what the platform file says
  double value = 0;
  double low = 0;  // of the interval in which it is with a likelihood of 68 %
  double high = 0;
  bool open_low = false;  // nothing bounds it: anything less would do as well
  bool open_high = false;
};

enum class KeptBecause : std::uint8_t {
  no_trace,  // in the measurements: a factor of e changes them by less than they scatter
  likeness,  // changes them just as fitted parameters do
  no_gain,   // with it, left-out rows are not predicted clearly better
};
struct KeptParameter {
  std::string name;
  std::string unit;
  double value = 0;
  KeptBecause why = KeptBecause::no_gain;
  std::string like;  // the fitted parameter that is most like it
};

// Fitted parameters of which the measurements tell little but what they make together.
struct Likeness {
  std::string one;
  std::string other;
  double correlation = 0;
};

// Rows that a fit to all others did not see, with the platform file's numbers and with the fitted
// ones.
struct FitTrial {
  std::string way;    // "the upper half of sizes"
  std::string lacks;  // why there are no rows
  std::vector<ComparedRow> before;
  std::vector<ComparedRow> after;
};
// Whether predictions became worse, by more than a twentieth and a tenth of a percent.
bool is_worse(const FitTrial& trial);

struct FitReport {
  std::string cluster;
  std::vector<std::string> files;  // the logs
  std::vector<FittedParameter> fitted;
  std::vector<Likeness> alike;
  // NCCL chooses algorithms and protocols by the numbers before, not by the fitted ones.
  bool keeps_expectations = false;
  std::vector<KeptParameter> kept;
  std::vector<FitTrial> trials;
  std::vector<ComparedRow> before;    // with the platform file's numbers
  std::vector<ComparedRow> after;     // the same rows
  double deviation = 0;               // of log(predicted / measured) of fitted rows, robust
  std::vector<std::size_t> outliers;  // rows that are off by more than three deviations and 5 %
};

// Errors of the rows that were fitted, or of those that were held out.
ErrorSummary errors_of(std::span<const ComparedRow> rows, bool held_out);

std::string parameter_text(double value, const std::string& unit);  // "2.41 us", "0.38"
// "2.3 to 2.5", "at most 2.5", in us or without a unit.
std::string interval_text(const FittedParameter& parameter);

std::string fit_text(const FitReport& report);
std::string fit_json(const FitReport& report);

}  // namespace pipewright::analysis
