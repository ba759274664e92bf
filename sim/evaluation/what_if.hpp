#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/why/why.hpp"
#include "analysis/trace/rows.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// A change to a run: to what its scenario says, or to what its passes cost.
struct Change {
  std::string words;
  std::function<void(config::Value&)> edit = {};
  std::function<void(workload::StageCosts&)> speed = {};
  bool of_stage = false;  // one of many alike, of which the best are shown
};

// How many stages are looked at one by one, at the most.
inline constexpr std::size_t most_stages = 24;

// What the hardware of a run offers.
struct HardwareChoices {
  std::vector<std::string> link_classes;
  std::vector<std::string> recipes;  // of training
};

// Those that make sense for a run, in a fixed order. `notes` gets what was left out.
std::vector<Change> what_if_changes(const config::Scenario& scenario,
                                    const analysis::WhyReport& report,
                                    const HardwareChoices& choices,
                                    std::vector<std::string>& notes);

struct WhatIfOptions {
  std::string file;      // that the trace is from, for messages
  std::size_t jobs = 1;  // simulations at a time
  // Called often with the simulations that are done, and their number; what it throws ends all.
  std::function<void(std::size_t done, std::size_t of)> look = [](std::size_t, std::size_t) {};
  // Called with each row that is known, before all are in order, and with the time of the run once
  // more without a change, if that is known by then.
  std::function<void(const analysis::WhatIfRow&, std::optional<double> rerun_s)> found = {};
};

// Runs the scenario that a trace holds again, as it was and with one change after the other. Throws
// trace::TraceError where it cannot be run.
analysis::WhatIf what_if(const trace::Trace& trace, const analysis::WhyReport& report,
                         const WhatIfOptions& options);

}  // namespace pipewright::evaluation
