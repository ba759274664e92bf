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
  Quantity quantity = Quantity::seconds;
  std::string base_name;
  std::string name;
  double base = 0;
  double value = 0;
  bool holds = false;
};

// A run by its name with its metrics.
struct NamedMetrics {
  std::string name;
  Metrics metrics;
};

// Asks each condition of each run against `base`. Throws ConditionError where a value is unknown.
std::vector<Judgement> judge(std::span<const Condition> conditions, const NamedMetrics& base,
                             std::span<const NamedMetrics> runs);

bool any_holds(std::span<const Judgement> judgements);

// A line each: "makespan>+1% holds: b.h5 has 34.60 s, a.h5 33.00 s (+4.8 %)".
std::string describe(std::span<const Judgement> judgements);

}  // namespace pipewright::analysis
