#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/goodput/report.hpp"
#include "analysis/report/search/decision.hpp"
#include "analysis/report/search/rows.hpp"
#include "sim/cli/job/launch.hpp"
#include "sim/config/scenario.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::cli {

// Function that simulates weeks of training with failures, of a number of tokens if there is one.
// Throws config::StructuredError and std::runtime_error; the latter also once `stop`, which is
// called often, returns true.
using SimulateWeeks = std::function<analysis::GoodputReport(
    const config::Scenario&, std::optional<double> tokens, const std::function<bool()>& stop)>;

// Inputs of a decision about the best candidate of a search.
struct DecisionInput {
  const search::Space& space;
  const std::vector<search::ClusterFacts>& facts;
  const std::vector<search::Space>& costs;  // spaces of --costs, one per cluster; empty: none
  const SimulateWeeks& simulate_weeks;
  const std::function<bool()>& stop;  // ends the simulation of weeks
  const PlanLaunch& plan_launch;
  const std::vector<LaunchWord>& launches;  // requested with --launch
};

// Collects what a decision needs about the best candidate, the row `best`.
analysis::Decision decide(const analysis::SearchRun& run, std::size_t best,
                          const DecisionInput& input);

}  // namespace pipewright::cli
