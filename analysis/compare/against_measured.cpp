#include "analysis/compare/against_measured.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace pipewright::analysis {
namespace {

struct Span {
  double start = std::numeric_limits<double>::infinity();
  double end = 0;
  double busy = 0;
  double last_start = -1;  // of the pass before, to count a fused pair once
  double last_end = -1;

  void add(const TimedPass& pass) {
    if (pass.start != last_start || pass.end != last_end) busy += pass.end - pass.start;
    last_start = pass.start;
    last_end = pass.end;
    start = std::min(start, pass.start);
    end = std::max(end, pass.end);
  }
};

double deviation(const std::vector<double>& values, double mean) {
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return values.size() > 1 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) : 0;
}

}  // namespace

IterationFigures iteration_figures(const RunFigures& run) {
  std::vector<TimedPass> passes = run.passes;
  std::ranges::stable_sort(passes, {}, &TimedPass::start);
  std::map<std::uint32_t, std::map<std::uint32_t, Span>> iterations;  // and devices
  for (const TimedPass& pass : passes) iterations[pass.key.iteration][pass.device].add(pass);

  IterationFigures figures;
  figures.iterations = static_cast<std::uint32_t>(iterations.size());
  if (iterations.empty()) return figures;
  const auto count = static_cast<double>(iterations.size());
  std::vector<double> spans;
  for (const auto& [number, devices] : iterations) {
    Span whole;
    double bubble = 0;
    for (const auto& [device, span] : devices) {
      whole.start = std::min(whole.start, span.start);
      whole.end = std::max(whole.end, span.end);
      whole.busy += span.busy;
      bubble = std::max(bubble, span.end - span.start - span.busy);
    }
    const double length = whole.end - whole.start;
    spans.push_back(length);
    figures.pass_span_s += length / count;
    figures.span_bubble_s += bubble / count;
    if (length > 0)
      figures.bubble_ratio +=
          (1 - whole.busy / (static_cast<double>(run.summary.devices.size()) * length)) / count;
  }
  figures.pass_span_deviation_s = deviation(spans, figures.pass_span_s);
  figures.iteration_s = run.iteration_s;
  return figures;
}

std::optional<double> PassTimeError::error() const {
  if (!predicted || !measured || measured->mean <= 0) return std::nullopt;
  return predicted->mean / measured->mean - 1;
}

AgainstMeasured compare_measured(const RunFigures& predicted, const RunFigures& measured) {
  AgainstMeasured result{iteration_figures(predicted), iteration_figures(measured), {}};
  std::map<std::pair<std::uint32_t, trace::PassKind>, PassTimeError> errors;
  for (const PassTime& time : pass_times(predicted.passes))
    errors[{time.stage, time.kind}].predicted = time;
  for (const PassTime& time : pass_times(measured.passes))
    errors[{time.stage, time.kind}].measured = time;
  for (auto& [place, error] : errors) {
    error.stage = place.first;
    error.kind = place.second;
    result.passes.push_back(error);
  }
  return result;
}

Metrics metrics_of(const IterationFigures& figures) {
  return {{"iteration_s", "iteration", MetricKind::seconds, figures.iteration_s},
          {"pass_span_s", "pass span", MetricKind::seconds, figures.pass_span_s},
          {"bubble_ratio", "bubble ratio", MetricKind::ratio, figures.bubble_ratio},
          {"span_bubble_s", "span bubble", MetricKind::seconds, figures.span_bubble_s}};
}

}  // namespace pipewright::analysis
