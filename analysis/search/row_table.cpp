#include "analysis/search/row_table.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/report_table.hpp"
#include "analysis/search/choices.hpp"
#include "analysis/search/findings.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

using Columns = ReportColumns<CandidateRow>;

bool is_whole(const std::string& text) {
  return text.find_first_not_of("0123456789") == std::string::npos;
}

// Of the axes in which rows differ; what they have in common goes to `common`.
Columns axis_columns(const SearchRun& run, std::span<const CandidateRow* const> rows,
                     std::string& common) {
  Columns columns;
  for (const std::size_t axis : open_axes(run)) {
    const auto value = [&run, axis](const CandidateRow& row) { return value_of(run, row, axis); };
    const std::string name = printable(run.axes[axis].name);
    const std::string first = value(*rows.front());
    if (std::ranges::all_of(rows, [&](const auto* row) { return value(*row) == first; })) {
      common += fmt::format("{}{} {}", common.empty() ? "" : ", ", name, printable(first));
      continue;
    }
    const bool whole = std::ranges::all_of(
        rows, [&](const auto* row) { return is_whole(printable(value(*row))); });
    columns.push_back({name, {name}, whole ? Quantity::count() : Quantity::name(), value});
  }
  return columns;
}

std::string behind_text(const SearchRun& run, double least, const CandidateRow& row) {
  const double cost = cost_of(run, row);
  if (!std::isfinite(cost)) return "floor";
  if (cost == least) return "best";
  return fmt::format("{:.1f}", 100 * behind(run.objective, cost, least));
}

std::string percent(double ratio) { return fmt::format("{:.1f}", ratio / 0.01); }

std::string whole_percent(double ratio) { return fmt::format("{:.0f}", ratio / 0.01); }

// What each row is good for; columns in which all have nothing are left out.
Columns figure_columns_of(bool of_tokens) {
  using Row = CandidateRow;
  return {optional<Row>({"throughput",
                         {of_tokens ? "tokens" : "samples"},
                         Quantity::rate(),
                         [](const Row& row) { return throughput(row.work, seconds_of(row)); }}),
          optional<Row>({"mfu",
                         {"MFU"},
                         Quantity::percent(),
                         [](const Row& row) { return mfu(row.work, seconds_of(row)); }}),
          optional<Row>({"time_s", {"iteration"}, Quantity::seconds(4), seconds_of}),
          optional<Row>(
              {"bubble_ratio", {"bubble", "%"}, Quantity::each_as(percent), &Row::bubble_ratio}),
          optional<Row>({"peak_bytes", {"memory"}, Quantity::bytes(), &Row::peak_bytes}),
          optional<Row>(
              {"fullness", {"of it", "%"}, Quantity::each_as(whole_percent), [](const Row& row) {
                 return row.capacity_bytes == 0 ? 0
                                                : static_cast<double>(row.peak_bytes) /
                                                      static_cast<double>(row.capacity_bytes);
               }})};
}

}  // namespace

std::string worth(const SearchRun& run, const CandidateRow& row) {
  return printable(shown(run.objective, row.work, cost_of(run, row)));
}

std::string memory_text(const CandidateRow& row) {
  if (row.capacity_bytes == 0) return format_bytes(row.peak_bytes);
  const ColumnScale scale =
      memory_scale(static_cast<double>(std::max(row.peak_bytes, row.capacity_bytes)));
  return fmt::format("{} of {} {}", scale(static_cast<double>(row.peak_bytes)),
                     scale(static_cast<double>(row.capacity_bytes)), scale.unit);
}

std::string row_table(const SearchRun& run, std::span<const std::size_t> rows,
                      std::optional<std::size_t> best) {
  if (rows.empty()) return "";
  std::vector<const CandidateRow*> shown_rows;
  for (const std::size_t i : rows) shown_rows.push_back(&run.rows[i]);
  std::string common;
  Columns columns = axis_columns(run, shown_rows, common);
  const bool is_price = run.objective.kind == Objective::Kind::price;
  if (is_price || run.objective.kind == Objective::Kind::time_to_train)
    columns.push_back({"worth",
                       {is_price ? "price" : "time", "to train"},
                       Quantity::count(),
                       [&](const CandidateRow& row) {
                         return shown(run.objective, row.work, cost_of(run, row));
                       }});
  if (best)
    columns.push_back({"behind",
                       {"behind", "%"},
                       Quantity::count(),
                       [&run, least = cost_of(run, run.rows[*best])](const CandidateRow& row) {
                         return behind_text(run, least, row);
                       }});
  std::ranges::move(figure_columns_of(shown_rows.front()->work.tokens > 0),
                    std::back_inserter(columns));
  const auto each = std::views::transform(
      shown_rows, [](const CandidateRow* row) -> const CandidateRow& { return *row; });
  return table_text(columns, each) +
         (common.empty() || rows.size() == 1 ? "" : fmt::format("all with {}\n", common));
}

}  // namespace pipewright::analysis
