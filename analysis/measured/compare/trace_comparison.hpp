#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/measured/compare/condition.hpp"
#include "analysis/measured/compare/pass_times.hpp"
#include "analysis/measured/compare/run_figures.hpp"

namespace pipewright::analysis {

// Device, start and duration of the same pass in two runs. Times count from the first pass of each
// run.
struct PassMove {
  PassKey pass;
  std::uint32_t first_device = 0;
  std::uint32_t second_device = 0;
  double first_start = 0;  // seconds
  double second_start = 0;
  double first_length = 0;
  double second_length = 0;

  double shift() const { return second_start - first_start; }  // > 0: later
};

// Summary of how much the passes of one kind on one stage moved or changed duration between two
// runs.
struct KindChange {
  std::uint32_t stage = 0;
  trace::PassKind kind = trace::PassKind::forward;
  std::uint64_t passes = 0;
  std::uint64_t later = 0;
  std::uint64_t earlier = 0;
  double mean_shift = 0;     // seconds
  double first_length = 0;   // mean
  double second_length = 0;  // mean
};

// Counts of passes by how a second run differs from a first in their times and devices.
struct Moves {
  std::string not_comparable;  // reason, if the runs share no passes; the rest is then empty
  std::uint64_t matched = 0;
  std::uint64_t only_first = 0;
  std::uint64_t only_second = 0;
  std::uint64_t unmoved = 0;  // same start
  std::uint64_t later = 0;
  std::uint64_t earlier = 0;
  std::uint64_t longer = 0;
  std::uint64_t shorter = 0;
  std::uint64_t on_other_device = 0;
  std::optional<PassMove> first;  // first pass with another start or another duration
  std::vector<PassMove> largest;  // largest shifts first
  std::vector<KindChange> kinds;  // by stage and kind
};

inline constexpr std::size_t max_listed_shifts = 5;

// Matches passes by stage, kind, microbatch (or slice) and iteration, if both runs have the same
// stages and slices. Times within a nanosecond, or 1e-9 of the longer run, are equal. Sorts the
// passes of both runs.
Moves compare_passes(RunFigures& first, RunFigures& second);

// Figures of several runs, and the differences of all others from the first.
struct TraceComparison {
  std::vector<RunFigures> runs;       // their passes are no longer needed
  std::vector<Moves> moves;           // one for each run after the first
  std::vector<Judgement> judgements;  // results of the conditions
};

// Text for a terminal: the table of metrics first, then notes and the changes of memory and passes.
std::string console_text(const TraceComparison& comparison);

// Returns the comparison as a JSON object with "baseline", "others" and "conditions"; ends with a
// newline.
std::string json_text(const TraceComparison& comparison);

// Functions that write notes on compared runs. File names are made safe to print.

// Returns true if the runs have different numbers of iterations.
bool unlike_iterations(std::span<const RunFigures> runs);

// Returns notes on differences that make the runs hard to compare: iterations and models, and
// unless the runs' settings say so, microbatches, replicas and jobs.
std::vector<std::string> unlike_notes(const RunFigures& first, const RunFigures& other);

// Returns a note on runs whose traffic of links leaves out the collectives within passes; empty if
// there are none.
std::string link_note(std::span<const RunFigures> runs);

}  // namespace pipewright::analysis
