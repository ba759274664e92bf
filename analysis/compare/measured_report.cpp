#include <fmt/format.h>

#include "analysis/compare/against_measured.hpp"
#include "analysis/compare/compare_json.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr const char* unknown = "-";

std::string describe(const std::string& role, const std::string& name, const trace::RunInfo& run,
                     std::uint32_t iterations) {
  return fmt::format("{:<10} {}: {}, {} x {} x {}\n", role, printable(name),
                     printable(run.schedule), counted(run.devices, "device"),
                     counted(run.microbatches, "microbatch"), counted(iterations, "iteration"));
}

// Errors say how much the prediction is above the measurement.
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
    return metric.value ? format_value(metric.quantity, *metric.value) : unknown;
  };
  const auto error_of = [](const Row& row) -> std::string {
    const auto& [ours, theirs] = row;
    if (!ours.value || !theirs.value) return unknown;
    return ours.quantity == MetricKind::ratio
               ? format_difference(ours.quantity, *theirs.value, *ours.value)
               : format_change(*theirs.value, *ours.value);
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

ReportColumns<PassTime> time_columns() {
  return {{"passes", &PassTime::passes},   {"mean_s", &PassTime::mean},
          {"median_s", &PassTime::median}, {"deviation_s", &PassTime::deviation},
          {"least_s", &PassTime::least},   {"most_s", &PassTime::most}};
}

ReportColumns<PassTimeError> error_columns() {
  const Quantity seconds = Quantity::each_as(format_seconds);
  // What a table shows of the times of a side, and a file as an object of all of them.
  const auto shown = [](std::vector<std::string> heading, const Quantity& quantity,
                        std::optional<PassTime> PassTimeError::*side, auto value_of) {
    return table_only<PassTimeError>(
        {"", std::move(heading), quantity, [=](const PassTimeError& one) -> Json {
           const std::optional<PassTime>& time = one.*side;
           return time ? Json(std::invoke(value_of, *time)) : Json();
         }});
  };
  const auto all = [](std::optional<PassTime> PassTimeError::*side) {
    return [side](const PassTimeError& one) {
      const std::optional<PassTime>& time = one.*side;
      return time ? json_object(time_columns(), *time) : Json();
    };
  };
  return {
      {"stage", {"stage"}, Quantity::name(), &PassTimeError::stage},
      {"kind",
       {"kind"},
       Quantity::name(),
       [](const PassTimeError& one) { return pass_letter(one.kind); }},
      {"predicted", all(&PassTimeError::predicted)},
      {"measured", all(&PassTimeError::measured)},
      shown({"measured", "passes"}, Quantity::count(), &PassTimeError::measured, &PassTime::passes),
      shown({"predicted", "mean"}, seconds, &PassTimeError::predicted, &PassTime::mean),
      shown({"measured", "mean"}, seconds, &PassTimeError::measured, &PassTime::mean),
      shown({"standard", "deviation"}, seconds, &PassTimeError::measured, &PassTime::deviation),
      shown({"least..most"}, seconds, &PassTimeError::measured,
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
  json["metrics"] = metrics_json(metrics_of(figures));
  json["pass_span_deviation_s"] = figures.pass_span_deviation_s;
  return json;
}

}  // namespace

std::string console_text(const MeasuredComparison& comparison) {
  const AgainstMeasured& result = comparison.result;
  std::string text = describe("predicted", comparison.predicted_name, comparison.predicted_run,
                              result.predicted.iterations) +
                     describe("measured", comparison.measured_name, comparison.measured_run,
                              result.measured.iterations);
  for (const std::string& note : comparison.notes) text += fmt::format("note: {}\n", note);
  text += '\n' + run_table(result);
  text += '\n' + table_text(error_columns(), result.passes);
  if (!comparison.judgements.empty()) text += '\n' + describe(comparison.judgements);
  return text;
}

std::string json_text(const MeasuredComparison& comparison) {
  const AgainstMeasured& result = comparison.result;
  Json json;
  json["predicted"] =
      side_json(comparison.predicted_name, comparison.predicted_run, result.predicted);
  json["measured"] = side_json(comparison.measured_name, comparison.measured_run, result.measured);
  // Of the prediction against the measurement.
  json["errors"] = differences_json(metrics_of(result.measured), metrics_of(result.predicted));
  json["passes"] = json_rows(error_columns(), result.passes);
  json["notes"] = comparison.notes;
  json["conditions"] = judgements_json(comparison.judgements);
  return json_document(json);
}

}  // namespace pipewright::analysis
