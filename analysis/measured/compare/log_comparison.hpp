#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/compare/condition.hpp"
#include "analysis/measured/compare/flop_count.hpp"
#include "analysis/measured/compare/memory_comparison.hpp"
#include "analysis/measured/compare/run_figures.hpp"
#include "analysis/measured/compare/steady.hpp"
#include "analysis/measured/logs/training_log.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {

// One timer, such as forward-compute: its range over the ranks of a log and its predicted range
// over devices, in seconds per iteration.
struct TimerComparison {
  std::string name;
  std::optional<Range> predicted;  // empty: not predicted
  std::optional<Range> measured;   // means over iterations
  std::optional<double> error;     // error of the upper ends: predicted / measured - 1
};

// One rate, such as tokens/s: the mean over the iterations of a log that report it, and the
// prediction. FLOP/s are not comparable if it is unknown how the log counts them.
struct RateComparison {
  Metric predicted;
  Metric measured;
  bool is_comparable = true;
};

struct LogComparison {
  std::string predicted_name;
  std::string measured_name;
  std::size_t iterations = 0;           // iterations of the log, without those left out
  std::size_t warm_up = 0;              // iterations left out at the beginning
  std::size_t pauses = 0;               // iterations left out later
  double deviation_s = 0;               // standard deviation of the iteration times
  std::vector<FigureSpread> spreads;    // spread of each figure over the iterations
  std::optional<FlopCount> flops;       // empty: the log does not tell
  std::vector<TimerComparison> timers;  // the iteration first
  std::vector<RateComparison> rates;
  std::vector<MemoryError> memory;
  std::vector<std::string> notes;  // missing parts of the log
  // Timers for each device separately. Empty unless the log has every rank and the pipeline is the
  // outermost dimension of the ranks.
  std::vector<std::vector<TimerComparison>> devices;
  std::vector<Judgement> judgements;
  trace::Evidence evidence;  // what the prediction rests on
};

// Selects the run and the iterations of a log that a comparison uses, and names ways of counting
// FLOPs that may explain those of the log.
struct LogChoice {
  std::optional<std::size_t> skip;  // iterations of warm-up; empty: see SteadyLines
  std::optional<std::size_t> run;   // number of the run in the log, from 1; empty: the last run
  std::vector<FlopRule> flop_rules;
};

// Compares a prediction with a log. Throws trace::TraceError if no iterations remain.
LogComparison compare_log(const RunFigures& predicted, const TrainingLog& log,
                          const LogChoice& choice);

// Metrics that conditions may use, of the predicted or of the measured run: iteration_s, rates and
// peak_memory_bytes.
Metrics predicted_metrics(const LogComparison& comparison);
Metrics measured_metrics(const LogComparison& comparison);

std::string console_text(const LogComparison& comparison);
std::string json_text(const LogComparison& comparison);

}  // namespace pipewright::analysis
