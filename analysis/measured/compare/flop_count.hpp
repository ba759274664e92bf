#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/compare/run_figures.hpp"
#include "analysis/measured/logs/log_rows.hpp"

namespace pipewright::analysis {

// A way in which programs count the FLOPs of training, and the FLOPs of a token by it, forward and
// backward.
struct FlopRule {
  std::string words;  // "causal attention, half of the scores"
  double per_token = 0;
};

// FLOPs of a token that a log and a prediction count. FLOP/s of both are comparable only if these
// agree, or if a rule explains the count of the log.
struct FlopCount {
  double logged = 0;     // Follows from the FLOP/s of the log and its tokens per second.
  double predicted = 0;  // Of full attention, as for the predicted FLOP/s.
  double causal = 0;     // Of causal attention, by the prediction.
  std::string rule;      // Words of the rule that gives the count of the log; empty if none does.
  double by_rule = 0;    // By that rule, of the prediction; 0 if there is none.
  // True if the log does not state its batch, and the FLOPs are those of the prediction's batch.
  bool assumes_batch = false;

  // True if the counts differ by more than 5 %.
  bool differs() const;
  // Returns the predicted FLOPs by the rule of the log over those of full attention; nothing if the
  // counts differ and no rule explains the log.
  std::optional<double> conversion() const;
};

// Returns the ways of counting that follow from the FLOPs in the trace of a run.
std::vector<FlopRule> flop_rules(const trace::RunInfo& run);

// Returns the FLOPs of a token that lines of a log count; nothing if the log or the prediction does
// not tell. `rules` are ways of counting besides those of flop_rules(). A rule explains the count
// of the log if both agree within 2 %.
std::optional<FlopCount> flop_count(const RunFigures& predicted,
                                    const std::vector<LogIteration>& lines,
                                    const std::vector<FlopRule>& rules);

// "the log counts 39.9 GFLOP a token, 0.48 of the prediction's 82.9 with full attention, ..".
// Requires differs().
std::string flop_note(const FlopCount& count, bool is_same_batch);

}  // namespace pipewright::analysis
