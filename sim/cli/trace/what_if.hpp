#pragma once

#include <cstddef>
#include <string>

#include "analysis/trace/rows.hpp"
#include "analysis/why/why.hpp"

namespace pipewright::cli {

struct WhatIfOptions {
  std::string file;      // that the trace is from, for messages
  std::size_t jobs = 1;  // simulations at a time
  bool visible = true;   // whether a progress bar may be drawn
};

// Runs the scenario that a trace holds again, as it was and with one change after the other. Throws
// trace::TraceError where it cannot be run.
analysis::WhatIf what_if(const trace::Trace& trace, const analysis::WhyReport& report,
                         const WhatIfOptions& options);

}  // namespace pipewright::cli
