#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pipewright::analysis {

// A device that would hold more than it has.
struct Overflow {
  std::uint32_t device = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t capacity_bytes = 0;
};

// One change to a run, and what a simulation of the changed run says.
struct WhatIfRow {
  std::string change;                     // in words
  std::optional<double> makespan_s = {};  // none: it could not run
  std::string why_not = {};               // then this says why
  std::optional<Overflow> overflow = {};  // of the device with most too much
};

struct WhatIf {
  double rerun_s = 0;              // the run once more without a change, which gains are against
  std::vector<std::string> notes;  // in words, on what was run and what was not
  std::vector<WhatIfRow> rows;     // what gains most first, then what could not run
};

// What a row gains, which has a makespan. Less than 1e-8 of the time is a rounding, and 0.
double gain_s(const WhatIf& what_if, const WhatIfRow& row);

}  // namespace pipewright::analysis
