#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/compare/condition.hpp"
#include "analysis/measured/compare/metric.hpp"
#include "analysis/measured/compare/pass_times.hpp"
#include "analysis/measured/compare/run_figures.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Figures that both a simulated and a measured run have, as means over iterations. The **pass
// span** of an iteration is the time from the start of its first pass to the end of its last, over
// all devices.
struct IterationFigures {
  std::uint32_t iterations = 0;
  std::optional<double> iteration_s;  // see RunFigures
  double pass_span_s = 0;
  double pass_span_deviation_s = 0;  // standard deviation
  double bubble_ratio = 0;           // 1 - busy / (devices x pass span)
  double span_bubble_s = 0;          // max over devices of (last end - first start - busy)
};

// Predicted and measured times of the passes of one kind on one stage.
struct PassTimeError {
  std::uint32_t stage = 0;
  trace::PassKind kind = trace::PassKind::forward;
  std::optional<PassTime> predicted;
  std::optional<PassTime> measured;

  std::optional<double> error() const;  // (predicted mean - measured mean) / measured mean
};

struct AgainstMeasured {
  IterationFigures predicted;
  IterationFigures measured;
  std::vector<PassTimeError> passes;  // by stage and kind
};

IterationFigures iteration_figures(const RunFigures& run);
AgainstMeasured compare_measured(const RunFigures& predicted, const RunFigures& measured);

// Returns the figures of an iteration as named values for conditions and tables: iteration_s,
// pass_span_s, bubble_ratio, span_bubble_s.
Metrics metrics_of(const IterationFigures& figures);

// Everything that a report on a predicted and a measured run shows.
struct MeasuredComparison {
  std::string predicted_name;
  std::string measured_name;
  trace::RunInfo predicted_run;
  trace::RunInfo measured_run;
  AgainstMeasured result;
  std::vector<std::string> notes;     // notes of the import
  std::vector<Judgement> judgements;  // the measured run against the predicted one
};

std::string console_text(const MeasuredComparison& comparison);
std::string json_text(const MeasuredComparison& comparison);

}  // namespace pipewright::analysis
