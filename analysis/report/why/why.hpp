#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/pass_collectives.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/report/why/critical_path.hpp"
#include "analysis/report/why/lost_time.hpp"
#include "analysis/report/why/slack.hpp"
#include "analysis/report/why/time_split.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// A device whose memory peak exceeds its capacity.
struct Overflow {
  std::uint32_t device = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t capacity_bytes = 0;
};

// Returns the overflow of the device that exceeds its memory capacity by the most bytes, or nothing
// if all devices fit.
std::optional<Overflow> overflow_of(const Summary& run);

// One change to a run, and the result of simulating the changed run.
struct WhatIfRow {
  std::string change;                     // description
  std::optional<double> makespan_s = {};  // empty if the changed run is impossible
  std::string why_not = {};               // reason why the changed run is impossible
  std::optional<Overflow> overflow = {};
  trace::Evidence evidence = {};  // what the makespan rests on
  // Keys to set, with their values: "stack.attention=[cudnn]". Empty if the change is not one of
  // keys alone.
  std::vector<std::string> set = {};
  std::optional<std::uint32_t> stage = {};  // the only stage that the change makes faster
};

struct WhatIf {
  double rerun_s = 0;  // makespan of a new simulation without a change: the base of all gains
  std::vector<std::string> notes;  // notes on the simulations, and on those that were left out
  std::vector<WhatIfRow> rows;     // largest gain first, then changes that cannot run
};

// Returns how many seconds shorter than the unchanged run a changed run is; negative if it is
// longer. Differences below 1e-8 of the makespan are rounding errors and count as 0.
double gain_s(const WhatIf& what_if, const WhatIfRow& row);

// Explanation of a run's makespan. Definitions with formulas: metrics.md.
struct WhyReport {
  std::string schedule;
  std::uint32_t chunks = 1;  // stages of a device
  double makespan_s = 0;
  trace::Evidence evidence;          // what the makespan rests on
  std::optional<Overflow> overflow;  // if the run does not fit into memory
  // True if the trace has arrival times of inputs. Without them, path and slack are unknown.
  bool has_inputs = true;
  std::string verdict;  // one line
  PathSplit path;
  std::vector<TimeSplit> devices;
  std::vector<PassCollectives> pass_collectives;  // components of the devices' in_passes_s
  Slack slack;
  std::optional<LostTime> lost;  // if the run was compared with its ideal run
  // Replica for which the one of the trace waits at the end, if it waits for one.
  std::optional<std::uint32_t> last_replica;
  std::optional<WhatIf> what_if;  // if changed runs were simulated
};

// New simulations of a run that the explanation may need. Without a function, or with a null trace,
// there is no simulation.
struct Reruns {
  FindTrace replicas;  // the run, with the rows of another replica
  FindTrace ideal;     // the ideal run, with the rows of any replica
};

// Explains the makespan of a run. Throws trace::TraceError, whose message begins with `name`, if
// the trace has no passes or they all end at 0 s.
WhyReport why(const trace::Trace& trace, const std::string& name = "the trace",
              const Reruns& reruns = {});

// Formats the report as a JSON object and a newline; keys carry their units. Infinite slack is
// null.
std::string why_json_text(const WhyReport& report);

// Formats settings as words after --set: "stack.attention='[cudnn]'". Values that a shell would
// change are quoted.
std::string set_words(const std::vector<std::string>& settings);

// Formats the report for a terminal: the verdict, followed by tables.
std::string why_text(const WhyReport& report);

}  // namespace pipewright::analysis
