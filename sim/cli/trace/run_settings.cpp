#include "sim/cli/trace/run_settings.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "sim/config/settings.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::cli {
namespace {

// Makes the schedule of a run the only schedule of the run's scenario, which may list several.
void keep_schedule(config::Value& scenario, const std::string& name) {
  config::Value* const listed = config::find(scenario, "schedule");
  if (listed == nullptr || listed->kind != config::Value::Kind::list) return;
  const auto item = std::ranges::find_if(listed->items, [&](const config::Value& schedule) {
    const config::Value* const key = config::find(schedule, "name");
    return (key == nullptr ? schedule.text : key->text) == name;
  });
  const config::Value kept =
      item == listed->items.end() ? config::make_text(name, listed->origin) : *item;
  *listed = kept;
}

// Reads the scenario in a trace; nothing if the trace has none.
std::optional<config::Value> scenario_of(const analysis::RunFigures& run) {
  const trace::RunInfo& info = run.summary.run;
  if (info.scenario.empty()) return std::nullopt;
  config::Value tree = config::read_yaml_text(info.scenario, run.name + " (its scenario)");
  keep_schedule(tree, info.schedule);
  return tree;
}

}  // namespace

void add_settings(analysis::TraceComparison& comparison) {
  const std::optional<config::Value> first = scenario_of(comparison.runs.front());
  if (!first) return;
  for (std::size_t i = 1; i < comparison.runs.size(); ++i) {
    analysis::RunFigures& run = comparison.runs[i];
    const std::optional<config::Value> other = scenario_of(run);
    if (!other) continue;
    for (const config::SettingChange& change : config::setting_changes(*first, *other))
      run.settings.push_back({change.key, change.was, change.is});
  }
}

}  // namespace pipewright::cli
