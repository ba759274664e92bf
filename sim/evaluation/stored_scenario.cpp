#include "sim/evaluation/stored_scenario.hpp"

#include <utility>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::evaluation {

StoredScenario::StoredScenario(const trace::Trace& trace, std::string file)
    : file_(std::move(file)),
      folder_("pipewright-", "cannot create a folder for the cluster"),
      platform_(folder_.path() / "cluster.xml"),
      cluster_name_(fmt::format("the cluster of {}", file_)) {
  try {
    tree_ = stored_tree(trace);
    scenario_ = read(tree_);
  } catch (const config::Error& error) {
    cannot_run(first_line(error.what()));
  }
}

void StoredScenario::cannot_run(const std::string& reason) const {
  throw trace::TraceError(fmt::format("{}: the scenario cannot be run again: {}", file_, reason));
}

// Returns the tree of the scenario, set to use the trace's cluster.
config::Value StoredScenario::stored_tree(const trace::Trace& trace) const {
  if (trace.run.scenario.empty())
    throw trace::TraceError(
        file_ + ": has no scenario to run again: the trace was made by hand, or measured");
  config::Value tree = config::read_yaml_text(trace.run.scenario, file_ + " (its scenario)");
  if (config::find(tree, "cluster") == nullptr) return tree;
  if (trace.run.cluster.empty()) cannot_run("it uses a cluster that the trace does not contain");
  trace::write_file(platform_, trace.run.cluster);
  config::set_key(tree, "cluster", config::make_text(platform_.string(), {file_}));
  return tree;
}

config::Scenario StoredScenario::read(const config::Value& tree) const {
  config::Scenario scenario = config::read_scenario(tree);
  if (scenario.cluster && scenario.cluster->value == platform_)
    scenario.cluster_name = cluster_name_;
  return scenario;
}

}  // namespace pipewright::evaluation
