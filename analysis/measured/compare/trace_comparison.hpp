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

// The same pass in two runs. Times count from each run's first pass.
struct Moved {
  PassKey pass;
  std::uint32_t first_device = 0;
  std::uint32_t second_device = 0;
  double first_start = 0;  // seconds
  double second_start = 0;
  double first_length = 0;
  double second_length = 0;

  double shift() const { return second_start - first_start; }  // > 0: later
};

// What became of the passes of one kind on one stage.
struct KindChange {
  std::uint32_t stage = 0;
  trace::PassKind kind = trace::PassKind::forward;
  std::uint64_t passes = 0;
  std::uint64_t later = 0;
  std::uint64_t earlier = 0;
  double mean_shift = 0;     // seconds
  double first_length = 0;   // mean
  double second_length = 0;  // likewise
};

// How the passes of a second run lie against those of a first.
struct Moves {
  std::string
      not_comparable;  // why, if passes of one are none of the other; then all else is empty
  std::uint64_t matched = 0;
  std::uint64_t only_first = 0;
  std::uint64_t only_second = 0;
  std::uint64_t unmoved = 0;  // start as they did
  std::uint64_t later = 0;
  std::uint64_t earlier = 0;
  std::uint64_t longer = 0;
  std::uint64_t shorter = 0;
  std::uint64_t elsewhere = 0;    // on another device
  std::optional<Moved> first;     // that starts at another time, or takes another
  std::vector<Moved> largest;     // shifts, the largest first
  std::vector<KindChange> kinds;  // by stage and kind
};

inline constexpr std::size_t largest_shifts = 5;

// Passes are the same by stage, kind, microbatch and iteration (with slices: slice), where both
// runs cut model and microbatches alike. Times within a nanosecond, or 1e-9 of the longer run, are
// equal. Takes the passes by reference to sort them.
Moves compare_passes(RunFigures& first, RunFigures& second);

// Runs against the first of them.
struct TraceComparison {
  std::vector<RunFigures> runs;       // their passes are not needed any more
  std::vector<Moves> moves;           // of the second run and each that follows
  std::vector<Judgement> judgements;  // of conditions that were asked
};

// For a terminal of 100 columns, as long as there are not too many runs.
std::string console_text(const TraceComparison& comparison);

// An object with "baseline", "others" and "conditions"; ends with a newline.
std::string json_text(const TraceComparison& comparison);

// What a reader has to know of runs that are compared. Names of files are made printable.

bool unlike_iterations(std::span<const RunFigures> runs);

// Where the runs are not of the same work: iterations, microbatches, replicas, models.
std::vector<std::string> unlike_notes(const RunFigures& first, const RunFigures& other);

// Whether what went over links includes collectives in passes; empty where no run has any.
std::string link_note(std::span<const RunFigures> runs);

}  // namespace pipewright::analysis
