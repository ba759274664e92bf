#include "sim/cli/schedule/catalog_table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/summary_columns.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::cli {

using analysis::Summary;
using schedules::Objective;

WrittenLimit held_by(const Summary& run, const WrittenLimit& unit) {
  double most = 0;
  for (const analysis::DeviceSummary& device : run.devices)
    most = std::max(most, unit.in_bytes() ? static_cast<double>(device.peak_memory_bytes)
                                          : device.peak_in_flight);
  return unit.with(most / unit.factor);
}

double span_of(const Summary& run) {
  double longest = 0;
  for (const analysis::DeviceSummary& device : run.devices)
    longest = std::max(longest, device.end_s - device.start_s);
  return longest;
}

double CatalogTable::value(const Summary& run) const {
  return objective_ == Objective::span ? span_of(run) : run.makespan_s;
}

// Behind those that are as good.
void CatalogTable::add(std::string name, Summary run) {
  const double seconds = value(run);
  constexpr double rounding = 1 + 1e-9;
  const auto place = std::ranges::find_if(
      rows_, [&](const Row& row) { return value(row.run) > seconds * rounding; });
  rows_.insert(place, {std::move(name), std::move(run)});
}

std::string CatalogTable::text() const {
  double longest = 0;
  double longest_bubble = 0;
  for (const Row& row : rows_) {
    longest = std::max({longest, row.run.makespan_s, span_of(row.run)});
    longest_bubble = std::max(longest_bubble, row.run.span_bubble_s);
  }
  const analysis::ColumnScale time = analysis::time_scale(longest, 4);
  const analysis::ColumnScale bubble = analysis::time_scale(longest_bubble, 3);
  std::vector<std::string> names, times, spans, ratios, bubbles, in_flight, worse;
  for (const Row& row : rows_) {
    names.push_back(row.name);
    times.push_back(time(row.run.makespan_s));
    spans.push_back(time(span_of(row.run)));
    ratios.push_back(fmt::format("{:.2f}", 100 * std::max(0.0, row.run.bubble_ratio)));
    bubbles.push_back(bubble(row.run.span_bubble_s));
    in_flight.push_back(analysis::in_flight_text(row.run));
    const double more = value(row.run) / value(rows_.front().run) - 1;
    worse.push_back(more > 1e-9 ? fmt::format("+{:.2f}", 100 * more) : "0");
  }
  analysis::TextTable table;
  table.add_names("schedule", std::move(names));
  table.add_numbers({"time", time.unit}, std::move(times));
  if (objective_ == Objective::span) table.add_numbers({"span", time.unit}, std::move(spans));
  table.add_numbers({"against", "best", "%"}, std::move(worse));
  table.add_numbers({"bubble", "ratio", "%"}, std::move(ratios));
  table.add_numbers({"span", "bubble", bubble.unit}, std::move(bubbles));
  table.add_numbers({"in", "flight"}, std::move(in_flight));
  return table.text();
}

}  // namespace pipewright::cli
