#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/summary_report.hpp"

namespace pipewright::cli {

// The times of one schedule under several seeds.
struct Repeats {
  std::string name;               // the schedule's
  std::vector<double> makespans;  // seconds, in order of the seeds
};

// "1f1b, 20 seeds: time 5.620 s (median), 5.581 to 5.713 s (90 %)"
std::string describe(const Repeats& repeats);
analysis::JsonFields json_fields(const Repeats& repeats);

}  // namespace pipewright::cli
