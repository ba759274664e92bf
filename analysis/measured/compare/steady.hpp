#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/measured/compare/metric.hpp"
#include "analysis/measured/logs/log_rows.hpp"

namespace pipewright::analysis {

// Lines of a log in its steady state: those that tell how long an iteration takes once caches,
// allocators and compilers have warmed up.
//
// The times of the second half of the lines are the measure: their median, and a tolerance of three
// standard deviations, estimated by 1.4826 times the median absolute deviation, or of 3 % (10 % of
// fewer than 5 lines) if that is more. Leading lines are left out until three lines in sequence are
// within the tolerance, at most the first half. A first line that contains the first iteration of
// the run is left out in any case if three others remain. Of the remaining lines, those that take
// more than 1.5 times their median are left out as pauses, such as checkpoints, if they are at most
// a tenth.
struct SteadyLines {
  std::vector<LogIteration> lines;
  std::size_t warm_up = 0;         // Number of leading lines that were left out.
  std::size_t pauses = 0;          // Number of later lines that were left out.
  std::vector<std::string> notes;  // Which lines were left out, and why.
};

// Returns the steady lines of a run, or all lines after the first `skip` if it is given.
SteadyLines steady_lines(std::span<const LogIteration> lines, std::optional<std::size_t> skip);

// Statistics of one figure over the lines that have it.
struct FigureSpread {
  Metric mean;
  std::size_t lines = 0;
  double least = 0;
  double median = 0;
  double most = 0;
  double deviation = 0;  // Standard deviation.
};

// A figure of a line: its name, its label and its quantity.
struct LineFigure {
  const char* name;
  const char* label;
  MetricKind quantity;
  std::optional<double> LogIteration::*value;
};

// Figures of lines, the time of an iteration first.
std::span<const LineFigure> line_figures();

// Returns the statistics of the figures that lines have.
std::vector<FigureSpread> spreads_of(std::span<const LogIteration> lines);

ReportColumns<FigureSpread> spread_columns();

}  // namespace pipewright::analysis
