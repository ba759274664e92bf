#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/compare/metric.hpp"
#include "analysis/measured/compare/pass_times.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Bytes sent during a run, summed by traffic class and by link class.
struct Traffic {
  std::array<std::uint64_t, trace::traffic_classes> of_class{};  // boundary tensors, collectives
  std::map<std::string, std::uint64_t> of_link_class;            // sum over links
  bool in_passes_on_links = false;  // whether links carry collectives in passes (full detail)
};

// Setting of a scenario with the values that two runs have; empty: a run lacks the setting.
struct SettingChange {
  std::string key;  // dotted: "training.recompute"
  std::optional<std::string> was;
  std::optional<std::string> is;
};

// Bytes of each memory category.
using CategoryBytes = std::array<std::uint64_t, trace::memory_categories>;

// Figures of a run that comparisons with other runs use.
struct RunFigures {
  std::string name;  // name of the file
  Summary summary;
  // Time from the start of an iteration to the start of the next, which includes the optimizer
  // step. Unknown for a single measured iteration.
  std::optional<double> iteration_s;
  Traffic traffic;
  std::vector<CategoryBytes> memory_most;  // by device: largest bytes of each category at any time
  std::vector<TimedPass> passes;           // in the order of the rows
  std::vector<SettingChange> settings;     // those that differ from the first run's
};

RunFigures read_figures(const std::filesystem::path& file);
RunFigures figures_of(const trace::Trace& trace, std::string name);

// Returns all scalar figures of the run. Bytes of link classes have the key link_bytes.CLASS.
Metrics metrics_of(const RunFigures& run);

}  // namespace pipewright::analysis
