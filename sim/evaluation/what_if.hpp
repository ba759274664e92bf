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

// A change to a run: an edit of its scenario, or faster passes.
struct Change {
  std::string words;
  std::function<void(config::Value&)> edit = {};
  std::function<void(workload::StageCosts&)> speed = {};
  bool is_per_stage = false;  // one of many changes, of which only the best are shown
};

// Maximum number of stages that are changed one by one.
inline constexpr std::size_t max_changed_stages = 24;

// Parameters of a run's hardware that changes can use.
struct HardwareChoices {
  std::vector<std::string> link_classes;
  std::vector<std::string> recipes;  // training recipes
};

// Changes that make sense for a run, in a fixed order. `notes` receives a note for changes that
// were left out.
std::vector<Change> what_if_changes(const config::Scenario& scenario,
                                    const analysis::WhyReport& report,
                                    const HardwareChoices& choices,
                                    std::vector<std::string>& notes);

struct WhatIfOptions {
  std::string file;      // file of the trace, for messages
  std::size_t jobs = 1;  // parallel simulations
  // Called often with the numbers of finished and of all simulations. An exception that it throws
  // ends the analysis.
  std::function<void(std::size_t done, std::size_t total)> on_progress = [](std::size_t,
                                                                            std::size_t) {};
  // Called with each row as it becomes available, in any order, and with the time of the unchanged
  // rerun if that is available.
  std::function<void(const analysis::WhatIfRow&, std::optional<double> rerun_s)> on_row = {};
};

// Runs the scenario of a trace again, unchanged and with each change. Throws trace::TraceError
// where it cannot be run.
analysis::WhatIf what_if(const trace::Trace& trace, const analysis::WhyReport& report,
                         const WhatIfOptions& options);

}  // namespace pipewright::evaluation
