#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/compare/condition.hpp"
#include "analysis/compare/moves.hpp"
#include "analysis/compare/run_figures.hpp"

namespace pipewright::analysis {

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
