#pragma once

#include <filesystem>
#include <string>

#include "analysis/trace/rows.hpp"
#include "sim/base/temporary_folder.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::evaluation {

// The scenario that a trace contains, for new simulations. Its cluster is in a temporary file.
class StoredScenario {
 public:
  // `file` names the trace in messages. Throws trace::TraceError if the trace has no scenario, or
  // one that cannot be read.
  StoredScenario(const trace::Trace& trace, std::string file);

  const config::Value& tree() const { return tree_; }
  const config::Scenario& scenario() const { return scenario_; }
  const std::filesystem::path& folder() const { return folder_.path(); }
  // Reads a changed tree of the scenario.
  config::Scenario read(const config::Value& tree) const;

  // Calls `work`; replaces the name of the temporary platform file in its errors by that of the
  // trace's cluster.
  template <class Work>
  auto with_cluster_name(const Work& work) const {
    try {
      return work();
    } catch (const cluster::Error& error) {
      if (error.location().source != platform_) throw;
      throw error.relocated({.source = cluster_name_, .line = error.location().line});
    }
  }

  // Throws the error that the scenario cannot be run again.
  [[noreturn]] void cannot_run(const std::string& reason) const;

 private:
  config::Value stored_tree(const trace::Trace& trace) const;

  std::string file_;
  base::TemporaryFolder folder_;
  std::filesystem::path platform_;
  std::string cluster_name_;  // "the cluster of run.h5"
  config::Value tree_;
  config::Scenario scenario_;
};

// The first line of an error's text, for a cell of a table.
inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace pipewright::evaluation
