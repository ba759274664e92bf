#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/compare/condition.hpp"
#include "analysis/compare/metric.hpp"

namespace pipewright::analysis {

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

}  // namespace pipewright::analysis
