#include "sim/cli/search/decision.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/text/error.hpp"
#include "sim/jobs/job.hpp"
#include "sim/search/cluster_costs.hpp"
#include "sim/sweep/scenario_tree.hpp"

namespace pipewright::cli {
namespace {

// Returns the first framework that writes launches for a software stack: one whose jobs run on this
// stack, or else one that runs on it, too. Returns null if there is none.
const jobs::Framework* framework_of(const std::string& stack) {
  const jobs::Framework* related = nullptr;
  for (const jobs::Framework& framework : jobs::frameworks()) {
    if (framework.write == nullptr) continue;
    if (framework.stack == stack) return &framework;
    if (related == nullptr && std::ranges::count(framework.stacks, stack) > 0) related = &framework;
  }
  return related;
}

std::optional<analysis::DecisionLaunch> launch_of(const config::Scenario& scenario,
                                                  const DecisionInput& input) {
  if (!scenario.model || !input.plan_launch) return std::nullopt;
  const jobs::Framework* const framework = input.launches.empty()
                                               ? framework_of(scenario.training.stack.name)
                                               : input.launches.front().framework;
  if (framework == nullptr || (scenario.training.lora && !framework->writes_adapters))
    return std::nullopt;
  const std::shared_ptr<const config::LaunchPlan> plan = input.plan_launch(scenario);
  try {
    const std::string text = jobs::export_job(scenario, *framework, *plan).text;
    return analysis::DecisionLaunch{std::string(framework->title), std::string(framework->name),
                                    text};
  } catch (const config::StructuredError&) {
    return std::nullopt;  // the framework has no such model
  }
}

// Settings that decide over a layout, in the order in which a decision lists them.
constexpr std::array<std::string_view, 13> layout_keys{"parallel.tp",
                                                       "parallel.cp",
                                                       "parallel.pp",
                                                       "parallel.ep",
                                                       "parallel.etp",
                                                       "parallel.sp",
                                                       "parallel.zero",
                                                       "placement.domain",
                                                       "partition",
                                                       "schedule",
                                                       "training.microbatch_size",
                                                       "training.recompute",
                                                       "training.precision"};

// Lists the settings of the layout that are no axes of the search.
void add_settings(analysis::Decision& decision, const analysis::SearchRun& run,
                  const config::Scenario& scenario) {
  if (!scenario.model) return;
  for (const std::string_view key : layout_keys) {
    if (std::ranges::count(run.axes, key, &analysis::SearchAxis::key) > 0) continue;
    const bool is_of_experts = key == "parallel.ep" || key == "parallel.etp";
    if (is_of_experts && !scenario.model->value.experts) continue;
    const std::string_view name = key.substr(key.rfind('.') + 1);
    if (const config::Value* const value = config::value_at(scenario.tree, key)) {
      decision.given_settings.push_back(fmt::format("{} {}", name, search::line_of(*value)));
      continue;
    }
    const auto& rows = search::scenario_rows();
    const auto row = std::ranges::find(rows, key, &config::KeyRow::name);
    if (row != rows.end() && !row->info.default_value.empty())
      decision.default_settings.push_back(fmt::format("{} {}", name, row->info.default_value));
  }
}

void simulate_weeks(analysis::Decision& decision, const config::Scenario& scenario,
                    const DecisionInput& input) {
  std::optional<double> tokens;
  if (decision.cost) tokens = decision.cost->objective.tokens;
  try {
    decision.weeks = input.simulate_weeks(scenario, tokens, input.stop);
  } catch (const std::runtime_error& error) {
    decision.no_weeks_reason = error.what();
  }
  if (!decision.weeks || !decision.cost || !decision.cost->has_price()) return;
  decision.weeks->price_per_gpu_hour = decision.cost->objective.price_per_gpu_hour;
  decision.weeks->currency = decision.cost->objective.currency;
}

}  // namespace

analysis::Decision decide(const analysis::SearchRun& run, std::size_t best,
                          const DecisionInput& input) {
  const analysis::CandidateRow& row = run.rows[best];
  const config::Scenario scenario = config::read_scenario(input.space.candidate(row.candidate));
  analysis::Decision decision{.row = best};
  if (!input.costs.empty()) {
    const std::size_t cluster = input.space.cluster(row.candidate / input.space.schedules());
    decision.cost = search::cost_of_row(run, row, input.costs.at(cluster), input.facts);
  }
  decision.failures_are_assumed =
      !scenario.goodput || (scenario.goodput->failures.empty() && !scenario.goodput->trace);
  simulate_weeks(decision, scenario, input);
  decision.launch = launch_of(scenario, input);
  add_settings(decision, run, scenario);
  return decision;
}

}  // namespace pipewright::cli
