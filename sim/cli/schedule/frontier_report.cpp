#include "sim/cli/schedule/frontier_report.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/picture/pictures.hpp"
#include "analysis/report/report_table.hpp"
#include "analysis/report/units_text.hpp"
#include "sim/cli/schedule/catalog_table.hpp"
#include "sim/evaluation/uncontended.hpp"

namespace pipewright::cli {
namespace {

using analysis::Summary;
using schedules::Objective;

// Share of `seconds` in which the average device is idle.
double bubble_ratio(const Summary& run, double seconds) {
  double busy = 0;
  for (const analysis::DeviceSummary& device : run.devices) busy += device.busy_s;
  return std::max(0.0, 1 - busy / (static_cast<double>(run.devices.size()) * seconds));
}

// Adds a named point or, if there already is a point at this place, adds the name to that.
void add_name(std::vector<analysis::NamedPoint>& points, std::string_view name, double memory,
              double bubble) {
  constexpr double rounding = 1e-9;
  for (analysis::NamedPoint& point : points)
    if (std::abs(point.memory - memory) <= rounding * memory &&
        std::abs(point.bubble_ratio - bubble) <= rounding) {
      point.name += fmt::format(", {}", name);
      return;
    }
  points.push_back({std::string(name), memory, bubble});
}

}  // namespace

std::string table(const Frontier& frontier) {
  using analysis::Quantity;
  using Step = FrontierStep;
  const Objective objective = frontier.objective;
  double longest = 0;
  for (const Step& step : frontier.steps) longest = std::max(longest, step.summary.makespan_s);
  const Quantity time = Quantity::on(analysis::time_scale(longest, 5));
  const Quantity limit =
      Quantity::each_as([](double value) { return fmt::format("{:.6g}", value); });
  analysis::ReportColumns<Step> columns{
      {"limit",
       {"memory", "limit", frontier.steps.front().limit.unit},
       limit,
       [](const Step& step) { return step.limit.value(); }},
      {"makespan_s", {"time"}, time, [](const Step& step) { return step.summary.makespan_s; }},
      {"span_s", {"span"}, time, [](const Step& step) { return step.result.span; }},
      {"bubble_ratio",
       {"bubble", "ratio", "%"},
       two_decimals(),
       [](const Step& step) { return std::max(0.0, step.summary.bubble_ratio); }},
      {"span_bubble_s",
       {"span", "bubble"},
       Quantity::seconds(3),
       [](const Step& step) { return step.summary.span_bubble_s; }},
      {"lower_bound_s", {"lower", "bound"}, time, &Step::lower_bound},
      {"gap",
       {"gap", "%"},
       two_decimals(),
       [objective](const Step& step) { return step.gap_for(objective); }},
      {"origin", {"found"}, Quantity::name(), [](const Step& step) { return step.result.origin; }}};
  if (objective != Objective::span)
    std::erase_if(columns, [](const auto& column) { return column.key == "span_s"; });
  std::vector<trace::Evidence> evidence;
  for (const Step& step : frontier.steps) evidence.push_back(step.summary.run.evidence);
  return analysis::table_text(columns, frontier.steps) + analysis::evidence_lines(evidence);
}

std::string csv(const Frontier& frontier) {
  const auto& [objective, points, catalog] = frontier;
  const WrittenLimit& unit = points.front().limit;
  std::string text = fmt::format(
      "schedule,memory_{},makespan_s,bubble_ratio,span_bubble_s,lower_bound_s,gap,origin\r\n",
      unit.in_bytes() ? "bytes" : "microbatches");
  const auto figures = [](const Summary& run) {
    return fmt::format("{},{},{}", run.makespan_s, run.bubble_ratio, run.span_bubble_s);
  };
  for (const FrontierStep& point : points)
    text +=
        fmt::format("found,{},{},{},{},\"{}\"\r\n", point.limit.limit.value, figures(point.summary),
                    point.lower_bound, point.gap_for(objective), point.result.origin);
  for (const evaluation::CatalogRun& run : catalog)
    text += fmt::format("{},{},{},,,\r\n", run.entry->name, held_by(run.summary, unit).limit.value,
                        figures(run.summary));
  return text;
}

void draw(const Frontier& frontier, const config::Scenario& scenario, const Output& output) {
  const auto& [objective, points, catalog] = frontier;
  const bool of_span = objective == Objective::span;
  const auto seconds = [&](const Summary& run) {
    return of_span ? evaluation::span_of(run) : run.makespan_s;
  };
  const WrittenLimit& unit = points.front().limit;
  std::vector<analysis::FrontierPoint> line;
  for (const FrontierStep& point : points)
    line.push_back({.memory = point.limit.value(),
                    .bubble_ratio = bubble_ratio(point.summary, seconds(point.summary)),
                    .lower_bound = bubble_ratio(point.summary, point.lower_bound),
                    .label = ""});
  std::vector<analysis::NamedPoint> named;
  std::vector<std::string_view> beyond;  // schedules far outside the range of the limits
  for (const evaluation::CatalogRun& run : catalog) {
    const double held = held_by(run.summary, unit).value();
    const double bubble = bubble_ratio(run.summary, seconds(run.summary));
    if (held > points.back().limit.value() * (1 + 1e-9))
      beyond.push_back(run.entry->name);
    else
      add_name(named, run.entry->name, held, bubble);
  }
  std::string details = sizes(scenario);
  if (of_span) details += ", bubbles within the longest span of a device";
  if (!beyond.empty()) details += fmt::format("; farther right: {}", fmt::join(beyond, ", "));
  const analysis::FrontierWords words{
      .title = "Bubbles against memory",
      .details = details,
      .memory = unit.in_bytes() ? fmt::format("peak memory of a device ({})", unit.unit)
                                : "peak memory (microbatches of a device)"};
  analysis::draw_frontier(line, named, words, output.file, picture_kind(output));
}

std::string json(const Frontier& frontier) {
  std::vector<Summary> summaries;
  std::vector<analysis::JsonFields> fields;
  for (const FrontierStep& step : frontier.steps) {
    summaries.push_back(step.summary);
    fields.push_back(json_fields(step.result, step.limit, frontier.objective, step.lower_bound));
  }
  return analysis::json_list(summaries, fields);
}

}  // namespace pipewright::cli
