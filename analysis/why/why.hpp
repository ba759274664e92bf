#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "analysis/why/path_split.hpp"
#include "analysis/why/slack.hpp"
#include "analysis/why/time_split.hpp"
#include "analysis/why/what_if.hpp"

namespace pipewright::analysis {

// Why a run takes as long as it does. Definitions with formulas: metrics.md.
struct WhyReport {
  std::string schedule;
  std::uint32_t chunks = 1;  // stages of a device
  double makespan_s = 0;
  // Whether the trace says when inputs arrived; if not, path and slack are not known.
  bool knows_inputs = true;
  std::string verdict;  // in words, one line
  PathSplit path;
  std::vector<TimeSplit> devices;
  Slack slack;
  std::optional<WhatIf> what_if;  // where somebody has simulated it
};

// Throws trace::TraceError, which begins with `name`, if the trace has no passes.
WhyReport why(const trace::Trace& trace, const std::string& name = "the trace");

// An object in JSON that ends with a newline; keys carry their units. What no slowing makes longer
// has the slack null.
std::string why_json_text(const WhyReport& report);

// The verdict and tables for a terminal.
std::string why_text(const WhyReport& report);

}  // namespace pipewright::analysis
