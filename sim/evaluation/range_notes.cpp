#include "sim/evaluation/range_notes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/units_text.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/published_range.hpp"
#include "sim/evaluation/scenario_run.hpp"

namespace pipewright::evaluation {
namespace {

// Returns the keys of the scenario's GPU, with its name.
config::Value keys_of_gpu(const config::Value& scenario, const std::string& cluster_gpu) {
  if (const config::Value* const gpu = config::find(scenario, "gpu"))
    return config::named_gpu_tree({*gpu, "gpu"});
  const config::Value name = config::make_text(cluster_gpu, {.source = "the cluster"});
  return config::named_gpu_tree({name, "gpu"});
}

// Returns the note for a GPU's keys; empty if none of them is a range.
std::string note_of(const config::Value& keys) {
  std::vector<std::string> texts;
  for (const config::PublishedRange& range : config::published_ranges(keys))
    texts.push_back(fmt::format("{} {} to {}", range.key, range.low, range.high));
  if (texts.empty()) return "";
  return fmt::format("{} is preliminary: published are {}; predictions use the middle",
                     config::find(keys, "name")->text, fmt::join(texts, ", "));
}

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

std::string range_note(const config::Value& scenario, const std::string& cluster_gpu) {
  // Jobs without a model need no GPU, and their platform files may use any name for its type.
  const bool has_gpu = config::find(scenario, "gpu") != nullptr || !cluster_gpu.empty();
  const bool has_model = config::find(scenario, "model") != nullptr;
  return has_gpu && has_model ? note_of(keys_of_gpu(scenario, cluster_gpu)) : "";
}

std::vector<std::string> notes_of_ranges(const config::Scenario& scenario, const Hardware& hardware,
                                         const std::vector<analysis::Summary>& runs,
                                         trace::Sink& rows) {
  const std::set<std::string> types = types_of(scenario, hardware);
  std::vector<std::string> notes;
  for (const std::string& type : types)
    if (std::string note = range_note(scenario.tree, type); !note.empty())
      notes.push_back(std::move(note));
  if (notes.empty() || types.size() > 1) return notes;

  const config::Value gpu = keys_of_gpu(scenario.tree, *types.begin());
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
