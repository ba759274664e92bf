#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/pass_collectives.hpp"
#include "analysis/report/why/critical_path.hpp"
#include "analysis/report/why/slack.hpp"
#include "analysis/report/why/time_split.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// A device that would hold more than it has.
struct Overflow {
  std::uint32_t device = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t capacity_bytes = 0;
};

// One change to a run, and what a simulation of the changed run says.
struct WhatIfRow {
  std::string change;                     // in words
  std::optional<double> makespan_s = {};  // none: it could not run
  std::string why_not = {};               // then this says why
  std::optional<Overflow> overflow = {};  // of the device with most too much
  trace::Assumed assumed = {};            // what its time rests on
};

struct WhatIf {
  double rerun_s = 0;              // the run once more without a change, which gains are against
  std::vector<std::string> notes;  // in words, on what was run and what was not
  std::vector<WhatIfRow> rows;     // what gains most first, then what could not run
};

// What a row gains, which has a makespan. Less than 1e-8 of the time is a rounding, and 0.
double gain_s(const WhatIf& what_if, const WhatIfRow& row);

// Why a run takes as long as it does. Definitions with formulas: metrics.md.
struct WhyReport {
  std::string schedule;
  std::uint32_t chunks = 1;  // stages of a device
  double makespan_s = 0;
  trace::Assumed assumed;  // what that rests on
  // Whether the trace says when inputs arrived; if not, path and slack are not known.
  bool knows_inputs = true;
  std::string verdict;  // in words, one line
  PathSplit path;
  std::vector<TimeSplit> devices;
  std::vector<PassCollectives> pass_collectives;  // what their in_passes_s are made of
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
