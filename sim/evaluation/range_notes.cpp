#include "sim/evaluation/range_notes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/units_text.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/config/published_range.hpp"
#include "sim/config/range_note.hpp"
#include "sim/evaluation/scenario_run.hpp"

namespace pipewright::evaluation {
namespace {

// Returns the types of GPU that the hosts of the scenario's ranks have; an empty one if the
// scenario names its GPU.
std::set<std::string> types_of(const config::Scenario& scenario, const Hardware& hardware) {
  std::set<std::string> types;
  if (scenario.gpu) return {""};
  if (hardware.cluster.is_ideal()) return types;
  for (const cluster::Host* const host : hardware.hosts) types.insert(cluster::gpu_of(host));
  return types;
}

ScenarioRun run_at(const config::Scenario& scenario, const config::Value& gpu,
                   config::RangeEnd end) {
  config::Value tree = scenario.tree;
  config::set_value(tree, "gpu", config::at_range_end(gpu, end));
  return ScenarioRun(config::read_scenario(tree));
}

}  // namespace

std::vector<std::string> notes_of_ranges(const config::Scenario& scenario, const Hardware& hardware,
                                         const std::vector<analysis::Summary>& runs,
                                         trace::Sink& rows) {
  const std::set<std::string> types = types_of(scenario, hardware);
  std::vector<std::string> notes;
  for (const std::string& type : types)
    if (std::string note = config::range_note(scenario.tree, type); !note.empty())
      notes.push_back(std::move(note));
  if (notes.empty() || types.size() > 1) return notes;

  const config::Value gpu = config::keys_of_gpu(scenario.tree, *types.begin());
  ScenarioRun low = run_at(scenario, gpu, config::RangeEnd::low);
  ScenarioRun high = run_at(scenario, gpu, config::RangeEnd::high);
  std::vector<std::string> times;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto [least, most] =
        std::minmax({low.run(i, {&rows}).makespan_s, high.run(i, {&rows}).makespan_s});
    const double iterations = std::max(1U, runs[i].run.iterations);
    times.push_back(fmt::format("an iteration of {} takes {} to {}", runs[i].run.schedule,
                                analysis::format_seconds(least / iterations),
                                analysis::format_seconds(most / iterations)));
  }
  notes.front() += fmt::format("; at the ends of the ranges, {}", fmt::join(times, ", "));
  return notes;
}

}  // namespace pipewright::evaluation
