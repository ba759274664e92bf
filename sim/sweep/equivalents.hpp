#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/sweep/axis.hpp"

namespace pipewright::search {

// A rule that keeps one of several equivalent candidates, which differ in the value of one axis
// only.
struct EquivalenceRule {
  std::string_view key;   // key of the axis
  std::string text;       // the rule as users see it
  std::string condition;  // the rule as a constraint
};

// Returns the rules that remove equivalent candidates, for the open axes.
std::vector<EquivalenceRule> equivalence_rules(const SweepAxes& axes);

}  // namespace pipewright::search
