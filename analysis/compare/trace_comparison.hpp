#pragma once

#include <string>
#include <vector>

#include "analysis/compare/judgement.hpp"
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

}  // namespace pipewright::analysis
