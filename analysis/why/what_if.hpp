#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pipewright::analysis {

// One change to a run, and what a simulation of the changed run says.
struct WhatIfRow {
  std::string change;                // in words
  std::optional<double> makespan_s;  // none: it could not run
  std::string why_not;               // then this says why
};

struct WhatIf {
  double rerun_s = 0;              // the run once more without a change, which gains are against
  std::vector<std::string> notes;  // in words, on what was run and what was not
  std::vector<WhatIfRow> rows;     // what gains most first, then what could not run
};

}  // namespace pipewright::analysis
