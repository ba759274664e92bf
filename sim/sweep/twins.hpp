#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/sweep/axis.hpp"

namespace pipewright::search {

// Values of an axis that come to the same for some candidates, of which one is looked at.
struct TwinRule {
  std::string_view key;   // of the axis
  std::string text;       // for people
  std::string condition;  // a constraint that keeps one
};

// Of those axes that are open.
std::vector<TwinRule> twin_rules(const SweepAxes& axes);

}  // namespace pipewright::search
