#include "sim/cli/schedule/catalog_table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/summary_columns.hpp"
#include "analysis/report/units_text.hpp"
#include "sim/evaluation/uncontended.hpp"

namespace pipewright::cli {

std::string sizes(const config::Scenario& scenario) {
  const std::uint32_t devices = scenario.devices.value;
  const std::uint32_t microbatches = scenario.microbatches.value;
  return fmt::format("{} device{} x {} microbatch{}", devices, devices == 1 ? "" : "s",
                     microbatches, microbatches == 1 ? "" : "es");
}

double CatalogTable::value(const analysis::Summary& run) const {
  return objective_ == schedules::Objective::span ? evaluation::span_of(run) : run.makespan_s;
}

// Keeps the rows sorted by the objective; the new run follows runs that are equally good.
void CatalogTable::add(std::string name, analysis::Summary run) {
  const double seconds = value(run);
  constexpr double rounding = 1 + 1e-9;
  const auto position = std::ranges::find_if(
      rows_, [&](const Row& row) { return value(row.run) > seconds * rounding; });
  rows_.insert(position, {std::move(name), std::move(run)});
}

analysis::Quantity two_decimals() {
  return analysis::Quantity::each_as(
      [](double ratio) { return fmt::format("{:.2f}", 100 * ratio); });
}

std::string CatalogTable::text() const {
  using analysis::Quantity;
  double longest = 0;
  for (const Row& row : rows_)
    longest = std::max({longest, row.run.makespan_s, evaluation::span_of(row.run)});
  const Quantity time = Quantity::on(analysis::time_scale(longest, 4));
  const Quantity more = Quantity::each_as(
      [](double part) { return part > 1e-9 ? fmt::format("+{:.2f}", 100 * part) : "0"; });
  analysis::ReportColumns<Row> columns{
      {"schedule", {"schedule"}, Quantity::name(), &Row::name},

      {"makespan_s", {"time"}, time, [](const Row& row) { return row.run.makespan_s; }},

      {"span_s", {"span"}, time, [](const Row& row) { return evaluation::span_of(row.run); }},
      {"above_best",
       {"against", "best", "%"},
       more,
       [this](const Row& row) { return value(row.run) / value(rows_.front().run) - 1; }},
      {"bubble_ratio",
       {"bubble", "ratio", "%"},
       two_decimals(),
       [](const Row& row) { return std::max(0.0, row.run.bubble_ratio); }},
      {"span_bubble_s",
       {"span", "bubble"},
       Quantity::seconds(3),
       [](const Row& row) { return row.run.span_bubble_s; }},
      {"in_flight", {"in", "flight"}, Quantity::count(), [](const Row& row) {
         return analysis::in_flight_text(row.run);
       }}};
  if (objective_ != schedules::Objective::span)
    std::erase_if(columns, [](const auto& column) { return column.key == "span_s"; });
  std::vector<trace::Evidence> evidence;
  for (const Row& row : rows_) evidence.push_back(row.run.run.evidence);
  return analysis::table_text(columns, rows_) + analysis::evidence_lines(evidence);
}

}  // namespace pipewright::cli
