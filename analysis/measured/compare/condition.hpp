#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/measured/compare/metric.hpp"

namespace pipewright::analysis {

// A condition that cannot be read, or not answered. The text shows where.
struct ConditionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Relation : std::uint8_t { more, less, more_or_equal, less_or_equal };
enum class Operand : std::uint8_t {
  value,       // "20 s": of the run itself
  difference,  // "+10ms": from the first run
  change,      // "+1%": of the first run's value
};

// "makespan>+1%", "peak_memory<-1GiB", "bubble_ratio >= 20%"
struct Condition {
  std::string text;
  std::string metric;  // as JSON calls it
  Relation comparison = Relation::more;
  Operand operand = Operand::value;
  double bound = 0;  // in the metric's unit; of a change as a ratio
};

// Reads a condition on one of these metrics, whose values do not matter. Throws ConditionError.
Condition read_condition(const std::string& text, const Metrics& metrics);

// Whether it holds for `value` against `base`.
bool holds(const Condition& condition, double base, double value);

// A condition asked of one run.
struct Judgement {
  Condition condition;
  MetricKind quantity = MetricKind::seconds;
  std::string base_name;
  std::string name;
  double base = 0;
  double value = 0;
  bool holds = false;
  bool of_error = false;  // of a prediction, `base` being the measured value
};

// A run by its name with its metrics.
struct NamedMetrics {
  std::string name;
  Metrics metrics;
};

// Asks each condition of each run against `base`. Throws ConditionError where a value is unknown.
std::vector<Judgement> judge(std::span<const Condition> conditions, const NamedMetrics& base,
                             std::span<const NamedMetrics> runs);

// Asks each condition of the prediction's error, which is what tables show: a change and a
// difference are those of `predicted` from `measured`. A value is the measured one.
std::vector<Judgement> judge_error(std::span<const Condition> conditions,
                                   const NamedMetrics& predicted, const NamedMetrics& measured);

bool any_holds(std::span<const Judgement> judgements);

// A line each: "makespan>+1% holds: b.h5 has 34.60 s, a.h5 33.00 s (+4.8 %)";
// of errors "pass_span<-2% holds: predicted 9.000 ms is 2.2 % below measured 9.200 ms".
std::string describe(std::span<const Judgement> judgements);

Json judgements_json(std::span<const Judgement> judgements);

}  // namespace pipewright::analysis
