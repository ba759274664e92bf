#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/search/robustness.hpp"

namespace pipewright::search {

// A simulation of a candidate under changed conditions, which `draw` describes.
struct WhatIfRun {
  std::uint64_t candidate = 0;
  analysis::Draw draw;
};
// Result of a simulation under changed conditions.
struct Attempt {
  double seconds = 0;      // seconds of an iteration; 0 if it failed
  std::string why_not;     // reason of the failure
  bool is_missing = true;  // the simulations were stopped before this one ended
};
// List of the classes of links whose bandwidth can be changed, each with its bandwidth in bytes/s.
using LinkClasses = std::vector<std::pair<std::string, double>>;

// The functions that simulate candidates of a space under changed conditions, and that list the
// classes of links of a candidate's cluster.
struct WhatIfRuns {
  // Simulates the runs in their order until `stop` returns true, which is called often. Returns an
  // attempt for each run.
  std::function<std::vector<Attempt>(const std::vector<WhatIfRun>&,
                                     const std::function<bool()>& stop)>
      simulate;
  std::function<LinkClasses(std::uint64_t candidate)> link_classes;
};

}  // namespace pipewright::search
