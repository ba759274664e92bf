#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "analysis/compare/metric.hpp"

namespace pipewright::analysis {

// A condition that cannot be read, or not answered. The text shows where.
struct ConditionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Comparison : std::uint8_t { more, less, more_or_equal, less_or_equal };
enum class Operand : std::uint8_t {
  value,       // "20 s": of the run itself
  difference,  // "+10ms": from the first run
  change,      // "+1%": of the first run's value
};

// "makespan>+1%", "peak_memory<-1GiB", "bubble_ratio >= 20%"
struct Condition {
  std::string text;
  std::string metric;  // as JSON calls it
  Comparison comparison = Comparison::more;
  Operand operand = Operand::value;
  double bound = 0;  // in the metric's unit; of a change as a ratio
};

// Reads a condition on one of these metrics, whose values do not matter. Throws ConditionError.
Condition read_condition(const std::string& text, const Metrics& metrics);

// Whether it holds for `value` against `base`.
bool holds(const Condition& condition, double base, double value);

}  // namespace pipewright::analysis
