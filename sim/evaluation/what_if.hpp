#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/report/why/why.hpp"
#include "analysis/trace/rows.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// A key of a scenario and a value for it in YAML, as in --set KEY=VALUE.
struct KeyValue {
  std::string key;
  std::string value;
};

// A change to a run: other values of its scenario's keys, an edit that no value expresses, or
// faster passes.
struct Change {
  std::string words;
  std::vector<KeyValue> settings = {};
  std::function<void(config::Value&)> edit = {};  // before the settings
  std::function<void(workload::StageCosts&)> speed = {};
  // The only stage whose costs change: one of many such changes, of which only the best are shown.
  std::optional<std::uint32_t> stage = {};
};

// Maximum number of stages for which a change of that stage alone is tried.
inline constexpr std::size_t max_changed_stages = 24;

// Hardware of a run that changes can vary.
struct HardwareChoices {
  std::vector<std::string> link_classes;
  std::vector<std::string> recipes;            // training recipes
  std::vector<std::string> attention_kernels;  // that all GPUs have and the run does not use
  std::vector<std::string> attention_types;    // types of 8 bits that these kernels take
};

// Changes that are worth trying for a run, in a fixed order. `notes` receives a note if changes
// were left out.
std::vector<Change> what_if_changes(const config::Scenario& scenario,
                                    const analysis::WhyReport& report,
                                    const HardwareChoices& choices,
                                    std::vector<std::string>& notes);

struct WhatIfOptions {
  std::string file;      // file of the trace, for messages
  std::size_t jobs = 1;  // parallel simulations
  // Callback with the number of finished simulations and of all simulations, called often. If it
  // throws, the analysis ends.
  std::function<void(std::size_t done, std::size_t total)> on_progress = [](std::size_t,
                                                                            std::size_t) {};
  // Callback for each row when its simulation ends, in any order. `rerun_s` is the time of the
  // unchanged run, which is simulated first.
  std::function<void(const analysis::WhatIfRow&, double rerun_s)> on_row = {};
};

// Simulates the scenario of a trace again, unchanged and with each change. Changes to jobs that the
// stack refuses are not simulated, unless the stack refuses the unchanged job too. Throws
// trace::TraceError if the unchanged scenario cannot be simulated.
analysis::WhatIf what_if(const trace::Trace& trace, const analysis::WhyReport& report,
                         const WhatIfOptions& options);

}  // namespace pipewright::evaluation
