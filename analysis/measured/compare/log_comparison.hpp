#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/compare/condition.hpp"
#include "analysis/measured/compare/memory_comparison.hpp"
#include "analysis/measured/compare/run_figures.hpp"
#include "analysis/measured/logs/training_log.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {

// One timer of a log beside what the prediction has of it, seconds in an iteration: from
// the device (rank) with least of it to the one with most.
struct TimerComparison {
  std::string name;
  std::optional<Range> predicted;  // empty: the prediction has no such part
  std::optional<Range> measured;   // means over iterations
  std::optional<double> error;     // of the most: predicted / measured - 1
};

// A rate of the whole iteration, mean over those that say it, beside the prediction's.
struct RateComparison {
  Metric predicted;
  Metric measured;
};

struct LogComparison {
  std::string predicted_name;
  std::string measured_name;
  std::size_t iterations = 0;           // of the log, without those skipped
  double deviation_s = 0;               // standard deviation of the iterations' times
  std::vector<TimerComparison> timers;  // the iteration first
  std::vector<RateComparison> rates;
  std::vector<MemoryError> memory;
  std::vector<std::string> notes;  // what the log does not say, a sentence each
  // Of each device, where the log has every rank: ranks follow one another along the pipeline last.
  std::vector<std::vector<TimerComparison>> devices;
  std::vector<Judgement> judgements;
  trace::Assumed assumed;  // what the prediction rests on
};

// Which part of a log is compared.
struct LogChoice {
  std::size_t skip = 0;            // iterations to warm up
  std::optional<std::size_t> run;  // of several in one log, from 1; the last one if empty
};

// Throws trace::TraceError if nothing is left.
LogComparison compare_log(const RunFigures& predicted, const TrainingLog& log,
                          const LogChoice& choice);

// For conditions: iteration_s, rates and peak_memory_bytes of either side.
Metrics predicted_metrics(const LogComparison& comparison);
Metrics measured_metrics(const LogComparison& comparison);

std::string console_text(const LogComparison& comparison);
std::string json_text(const LogComparison& comparison);

}  // namespace pipewright::analysis
