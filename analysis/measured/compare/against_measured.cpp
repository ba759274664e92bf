#include "analysis/measured/compare/against_measured.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "analysis/measured/compare/metric.hpp"
#include "analysis/report/evidence.hpp"
#include "analysis/report/statistics.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/evidence_json.hpp"

namespace pipewright::analysis {
namespace {

struct Span {
  double start = std::numeric_limits<double>::infinity();
  double end = 0;
  double busy = 0;
  double last_start = -1;  // of the previous pass, to count a fused pair once
  double last_end = -1;

  void add(const TimedPass& pass) {
    if (pass.start != last_start || pass.end != last_end) busy += pass.end - pass.start;
    last_start = pass.start;
    last_end = pass.end;
    start = std::min(start, pass.start);
    end = std::max(end, pass.end);
  }
};

constexpr const char* unknown_error = "-";

std::string describe_side(const std::string& role, const std::string& name,
                          const trace::RunInfo& run, std::uint32_t iterations) {
  return fmt::format("{:<10} {}: {}, {} x {} x {}\n", role, printable(name),
                     printable(run.schedule), counted(run.devices, "device"),
                     counted(run.microbatches, "microbatch"), counted(iterations, "iteration"));
}

// Table with the predicted and the measured figures of a run, and the relative errors of the
// prediction.
std::string run_table(const AgainstMeasured& result) {
  struct Row {
    Metric predicted;
    Metric measured;
  };
  const Metrics predicted = metrics_of(result.predicted);
  const Metrics measured = metrics_of(result.measured);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < predicted.size(); ++i) rows.push_back({predicted[i], measured[i]});
  const auto text_of = [](const Metric& metric) {
    return metric.value ? Json(format_value(metric.quantity, *metric.value)) : Json();
  };
  const auto error_of = [](const Row& row) -> std::string {
    const auto& [prediction, measurement] = row;
    if (!prediction.value || !measurement.value) return unknown_error;
    return prediction.quantity == MetricKind::ratio
               ? format_difference(prediction.quantity, *measurement.value, *prediction.value)
               : format_change(*measurement.value, *prediction.value);
  };
  const ReportColumns<Row> columns{
      {"label", {""}, Quantity::name(), [](const Row& row) { return row.predicted.label; }},
      {"predicted",
       {"predicted"},
       Quantity::count(),
       [=](const Row& row) { return text_of(row.predicted); }},
      {"measured",
       {"measured"},
       Quantity::count(),
       [=](const Row& row) { return text_of(row.measured); }},
      {"error", {"error"}, Quantity::count(), error_of}};
  return table_text(columns, rows);
}

ReportColumns<PassTime> pass_time_columns() {
  return {{"passes", &PassTime::passes},   {"mean_s", &PassTime::mean},
          {"median_s", &PassTime::median}, {"deviation_s", &PassTime::deviation},
          {"least_s", &PassTime::least},   {"most_s", &PassTime::most}};
}

ReportColumns<PassTimeError> error_columns() {
  const Quantity seconds = Quantity::each_as(format_seconds);
  // Tables show chosen figures of one side, predicted or measured; JSON has all of them.
  const auto figure = [](std::vector<std::string> heading, const Quantity& quantity,
                         std::optional<PassTime> PassTimeError::*side, auto value_of) {
    return table_only<PassTimeError>(
        {"", std::move(heading), quantity, [=](const PassTimeError& error) -> Json {
           const std::optional<PassTime>& time = error.*side;
           return time ? Json(std::invoke(value_of, *time)) : Json();
         }});
  };
  const auto object = [](std::optional<PassTime> PassTimeError::*side) {
    return [side](const PassTimeError& error) {
      const std::optional<PassTime>& time = error.*side;
      return time ? json_object(pass_time_columns(), *time) : Json();
    };
  };
  return {
      {"stage", {"stage"}, Quantity::name(), &PassTimeError::stage},
      {"kind",
       {"kind"},
       Quantity::name(),
       [](const PassTimeError& error) { return pass_letter(error.kind); }},
      {"predicted", object(&PassTimeError::predicted)},
      {"measured", object(&PassTimeError::measured)},
      figure({"measured", "passes"}, Quantity::count(), &PassTimeError::measured,
             &PassTime::passes),
      figure({"predicted", "mean"}, seconds, &PassTimeError::predicted, &PassTime::mean),
      figure({"measured", "mean"}, seconds, &PassTimeError::measured, &PassTime::mean),
      figure({"standard", "deviation"}, seconds, &PassTimeError::measured, &PassTime::deviation),
      figure({"range"}, seconds, &PassTimeError::measured,
             [](const PassTime& time) {
               return Range{time.least, time.most};
             }),
      {"error",
       {"error"},
       Quantity::each_as([](double error) { return format_change(1, 1 + error); }),
       &PassTimeError::error}};
}

Json side_json(const std::string& name, const trace::RunInfo& run,
               const IterationFigures& figures) {
  Json json;
  json["file"] = name;
  json["devices"] = run.devices;
  json["microbatches"] = run.microbatches;
  json["iterations"] = figures.iterations;
  trace::add_evidence(json, run.evidence);
  json["metrics"] = metrics_json(metrics_of(figures));
  json["pass_span_deviation_s"] = figures.pass_span_deviation_s;
  return json;
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
    Span total;
    double bubble = 0;
    for (const auto& [device, span] : devices) {
      total.start = std::min(total.start, span.start);
      total.end = std::max(total.end, span.end);
      total.busy += span.busy;
      bubble = std::max(bubble, span.end - span.start - span.busy);
    }
    const double length = total.end - total.start;
    spans.push_back(length);
    figures.pass_span_s += length / count;
    figures.span_bubble_s += bubble / count;
    if (length > 0)
      figures.bubble_ratio +=
          (1 - total.busy / (static_cast<double>(run.summary.devices.size()) * length)) / count;
  }
  figures.pass_span_deviation_s = standard_deviation(spans, figures.pass_span_s);
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
  for (auto& [key, error] : errors) {
    error.stage = key.first;
    error.kind = key.second;
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

std::string console_text(const MeasuredComparison& comparison) {
  const AgainstMeasured& result = comparison.result;
  std::string text = describe_side("predicted", comparison.predicted_name, comparison.predicted_run,
                                   result.predicted.iterations) +
                     describe_side("measured", comparison.measured_name, comparison.measured_run,
                                   result.measured.iterations);
  text += '\n' + run_table(result);
  text += '\n' + table_text(error_columns(), result.passes);
  text += evidence_lines({comparison.predicted_run.evidence});
  for (const std::string& note : comparison.notes) text += fmt::format("note: {}\n", note);
  if (!comparison.judgements.empty()) text += '\n' + describe(comparison.judgements);
  return text;
}

std::string json_text(const MeasuredComparison& comparison) {
  const AgainstMeasured& result = comparison.result;
  Json json;
  json["predicted"] =
      side_json(comparison.predicted_name, comparison.predicted_run, result.predicted);
  json["measured"] = side_json(comparison.measured_name, comparison.measured_run, result.measured);
  json["errors"] = differences_json(metrics_of(result.measured), metrics_of(result.predicted));
  json["passes"] = json_rows(error_columns(), result.passes);
  json["notes"] = comparison.notes;
  json["conditions"] = judgements_json(comparison.judgements);
  return json_document(json);
}

}  // namespace pipewright::analysis
