#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/search/robustness.hpp"

namespace pipewright::search {

// A candidate under conditions; its seconds, or why it has none.
struct Trial {
  std::uint64_t candidate = 0;
  analysis::Draw draw;
};
struct Tried {
  double seconds = 0;
  std::string why_not;
};
// Whose bandwidth can be another: a class of links, and that in bytes/s.
using LinkClasses = std::vector<std::pair<std::string, double>>;

// Who simulates.
struct Trials {
  std::function<std::vector<Tried>(const std::vector<Trial>&)> simulate;
  std::function<LinkClasses(std::uint64_t candidate)> link_classes;
};

}  // namespace pipewright::search
