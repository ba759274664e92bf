#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/measured/compare/metric.hpp"

namespace pipewright::analysis {

// A condition that cannot be read or judged. The message marks the position in its text.
struct ConditionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Relation : std::uint8_t { more, less, more_or_equal, less_or_equal };
enum class Operand : std::uint8_t {
  value,       // "20 s": value of the run
  difference,  // "+10ms": difference from the first run
  change,      // "+1%": relative change from the first run
};

// A condition on a metric, as users write it: "makespan>+1%", "peak_memory<-1GiB", "bubble_ratio >=
// 20%".
struct Condition {
  std::string text;
  std::string metric;  // JSON key
  Relation comparison = Relation::more;
  Operand operand = Operand::value;
  double bound = 0;  // in the unit of the metric; a ratio for a change
};

// Parses a condition, which must name one of `metrics`; their values are ignored. Throws
// ConditionError.
Condition read_condition(const std::string& text, const Metrics& metrics);

// Returns true if `value` meets the condition; a change or difference is taken from `base`.
bool holds(const Condition& condition, double base, double value);

// Outcome of one condition for one run: whether it holds, and the values that decided.
struct Judgement {
  Condition condition;
  MetricKind quantity = MetricKind::seconds;
  std::string base_name;
  std::string name;
  double base = 0;
  double value = 0;
  bool holds = false;
  bool of_error = false;  // on the error of a prediction; `base` is the measured value
};

// Name of a run, and its metrics.
struct NamedMetrics {
  std::string name;
  Metrics metrics;
};

// Judges each condition for each run relative to `base`. Throws ConditionError for an unknown
// value.
std::vector<Judgement> judge(std::span<const Condition> conditions, const NamedMetrics& base,
                             std::span<const NamedMetrics> runs);

// Judges each condition for the error that tables show: changes and differences are those of
// `predicted` from `measured`, and values are the measured values.
std::vector<Judgement> judge_error(std::span<const Condition> conditions,
                                   const NamedMetrics& predicted, const NamedMetrics& measured);

bool any_holds(std::span<const Judgement> judgements);

// A line for each judgement: "makespan>+1% holds: b.h5 has 34.60 s, a.h5 33.00 s (+4.8 %)", or on
// an error "pass_span<-2% holds: predicted 9.000 ms is 2.2 % below measured 9.200 ms".
std::string describe(std::span<const Judgement> judgements);

Json judgements_json(std::span<const Judgement> judgements);

}  // namespace pipewright::analysis
