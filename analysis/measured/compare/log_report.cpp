// Prints the comparison of a prediction with a training log, as text and JSON.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "analysis/measured/compare/log_comparison.hpp"
#include "analysis/measured/compare/metric.hpp"
#include "analysis/report/evidence.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/evidence_json.hpp"

namespace pipewright::analysis {
namespace {

constexpr const char* unknown_time = "-";

std::string range_text(const std::optional<Range>& range) {
  if (!range) return unknown_time;
  const std::string low = format_seconds(range->least);
  const std::string high = format_seconds(range->most);
  // A log with the "max time across ranks" gives no minimum, so only the maximum is shown.
  return low == high || range->least == 0 ? high : low + ".." + high;
}

// A row of the table of timers: a timer of the whole run (no device), or of one device.
struct TimerRow {
  const TimerComparison* timer;
  std::optional<std::size_t> device;
};

std::vector<TimerRow> timer_rows(const std::vector<TimerComparison>& timers,
                                 std::optional<std::size_t> device = {}) {
  std::vector<TimerRow> rows;
  for (const TimerComparison& timer : timers) rows.push_back({&timer, device});
  return rows;
}

std::vector<TimerRow> device_rows(const LogComparison& comparison) {
  std::vector<TimerRow> rows;
  for (std::size_t device = 0; device < comparison.devices.size(); ++device)
    for (const TimerRow& row : timer_rows(comparison.devices[device], device)) rows.push_back(row);
  return rows;
}

ReportColumns<TimerRow> timer_columns(const char* heading) {
  using Side = std::optional<Range> TimerComparison::*;
  const auto text_of_side = [](Side side) {
    return [side](const TimerRow& row) { return range_text(row.timer->*side); };
  };
  const auto json_of_side = [](Side side) {
    return [side](const TimerRow& row) -> Json {
      const std::optional<Range>& range = row.timer->*side;
      if (!range) return nullptr;
      return {{"least_s", range->least}, {"most_s", range->most}};
    };
  };
  return {
      table_only<TimerRow>({"name",
                            {heading},
                            Quantity::name(),
                            [](const TimerRow& row) {
                              return row.device
                                         ? fmt::format("{}  {}", *row.device, row.timer->name)
                                         : row.timer->name;
                            }}),
      {"timer", [](const TimerRow& row) { return row.timer->name; }},
      table_only<TimerRow>({"predicted_text",
                            {"predicted"},
                            Quantity::count(),
                            text_of_side(&TimerComparison::predicted)}),
      table_only<TimerRow>({"measured_text",
                            {"measured"},
                            Quantity::count(),
                            text_of_side(&TimerComparison::measured)}),
      {"predicted", json_of_side(&TimerComparison::predicted)},
      {"measured", json_of_side(&TimerComparison::measured)},
      {"error",
       {"error"},
       Quantity::each_as([](double error) { return format_change(1, 1 + error); }),
       [](const TimerRow& row) { return row.timer->error; }},
      {"device", [](const TimerRow& row) { return row.device ? Json(*row.device) : no_field(); }}};
}

// Metrics that conditions may use, of the predicted or of the measured run. A predicted rate that
// is not comparable is unknown.
Metrics side_metrics(const LogComparison& comparison, std::optional<Range> TimerComparison::*side,
                     Metric RateComparison::*rate, std::optional<double> peak) {
  const std::optional<Range>& time = comparison.timers.front().*side;
  Metrics metrics{{"iteration_s", "iteration", MetricKind::seconds,
                   time ? std::optional(time->most) : std::nullopt}};
  for (const RateComparison& row : comparison.rates) {
    metrics.push_back(row.*rate);
    if (!row.is_comparable && rate == &RateComparison::predicted) metrics.back().value.reset();
  }
  metrics.push_back({"peak_memory_bytes", "peak memory", MetricKind::bytes, peak});
  return metrics;
}

ReportColumns<RateComparison> rate_columns() {
  const auto text_of = [](const Metric& metric) {
    return metric.value ? Json(format_value(metric.quantity, *metric.value)) : Json();
  };
  const auto value_of = [](const Metric& metric) {
    return metric.value ? Json(*metric.value) : Json();
  };
  return {
      table_only<RateComparison>({"label",
                                  {"per iteration"},
                                  Quantity::name(),
                                  [](const RateComparison& row) { return row.measured.label; }}),
      {"name", [](const RateComparison& row) { return row.measured.name; }},
      table_only<RateComparison>(
          {"",
           {"predicted"},
           Quantity::count(),
           [=](const RateComparison& row) { return text_of(row.predicted); }}),
      table_only<RateComparison>(
          {"",
           {"measured"},
           Quantity::count(),
           [=](const RateComparison& row) { return text_of(row.measured); }}),
      {"predicted", [=](const RateComparison& row) { return value_of(row.predicted); }},
      {"measured", [=](const RateComparison& row) { return value_of(row.measured); }},
      {"error",
       {"error"},
       Quantity::each_as([](double error) { return format_change(1, 1 + error); }),
       [](const RateComparison& row) -> Json {
         if (!row.is_comparable || !row.predicted.value || !row.measured.value ||
             *row.measured.value <= 0)
           return Json();
         return *row.predicted.value / *row.measured.value - 1;
       }}};
}

// "20 iterations (1 left out), standard deviation 12.7 ms", or "4 iterations".
std::string described_iterations(const LogComparison& comparison) {
  std::string text = counted(comparison.iterations, "iteration");
  if (const std::size_t left_out = comparison.warm_up + comparison.pauses; left_out > 0)
    text += fmt::format(" ({} left out)", left_out);
  if (comparison.timers.front().measured)
    text += fmt::format(", standard deviation {}", format_seconds(comparison.deviation_s));
  return text;
}

Json flops_json(const std::optional<FlopCount>& count) {
  if (!count) return nullptr;
  return {{"log", count->logged},
          {"prediction", count->predicted},
          {"rule", count->rule.empty() ? Json() : Json(count->rule)}};
}

}  // namespace

Metrics predicted_metrics(const LogComparison& comparison) {
  return side_metrics(comparison, &TimerComparison::predicted, &RateComparison::predicted,
                      predicted_peak(comparison.memory));
}

Metrics measured_metrics(const LogComparison& comparison) {
  return side_metrics(comparison, &TimerComparison::measured, &RateComparison::measured,
                      measured_peak(comparison.memory));
}

std::string console_text(const LogComparison& comparison) {
  std::string text =
      fmt::format("predicted  {}\nmeasured   {}, {}\n", printable(comparison.predicted_name),
                  printable(comparison.measured_name), described_iterations(comparison));
  text += '\n' + table_text(timer_columns("timer"), timer_rows(comparison.timers));
  const std::vector<TimerRow> devices = device_rows(comparison);
  if (!devices.empty())
    text += "\nmeans over the ranks of each device, if the pipeline is the outermost dimension:\n" +
            table_text(timer_columns("device"), devices);
  if (!comparison.rates.empty()) text += '\n' + table_text(rate_columns(), comparison.rates);
  if (comparison.iterations > 1 && !comparison.spreads.empty())
    text += '\n' + table_text(spread_columns(), comparison.spreads);
  if (!comparison.memory.empty()) text += '\n' + table_text(memory_columns(), comparison.memory);
  text += evidence_lines({comparison.evidence});
  for (const std::string& note : comparison.notes) text += fmt::format("note: {}\n", note);
  if (!comparison.judgements.empty()) text += '\n' + describe(comparison.judgements);
  return text;
}

std::string json_text(const LogComparison& comparison) {
  Json json;
  json["predicted"] = comparison.predicted_name;
  json["measured"] = comparison.measured_name;
  json["iterations"] = comparison.iterations;
  json["deviation_s"] = comparison.deviation_s;
  json["left_out"] = {{"warm_up", comparison.warm_up}, {"pauses", comparison.pauses}};
  json["spreads"] = json_rows(spread_columns(), comparison.spreads);
  json["flops_per_token"] = flops_json(comparison.flops);
  trace::add_evidence(json, comparison.evidence);
  json["timers"] = json_rows(timer_columns("timer"), timer_rows(comparison.timers));
  json["devices"] = json_rows(timer_columns("device"), device_rows(comparison));
  json["rates"] = json_rows(rate_columns(), comparison.rates);
  json["memory"] = json_rows(memory_columns(), comparison.memory);
  json["notes"] = comparison.notes;
  json["conditions"] = judgements_json(comparison.judgements);
  return json_document(json);
}

}  // namespace pipewright::analysis
