#include "analysis/commlogs/reports/compare_tables.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

std::string percent_cell(double error) {
  const double tenths = std::round(1000 * error);
  return fmt::format("{:.1f}", tenths == 0 ? 0.0 : tenths / 10);
}

// nccl-tests' digits.
std::string microseconds_cell(double seconds) {
  const double us = seconds * 1e6;
  return fmt::format("{:.{}f}", us, us < 999.995 ? 2 : us < 9999.95 ? 1 : 0);
}
std::string gigabytes_cell(double bytes_per_s) { return fmt::format("{:.2f}", bytes_per_s / 1e9); }

std::string ratio_cell(double ratio) {
  return ratio < 99.5 ? fmt::format("{:.3g}", ratio) : fmt::format("{:.0f}", ratio);
}

std::vector<ComparedRow> one_each_doubling(std::span<const ComparedRow> rows) {
  std::vector<ComparedRow> first;
  for (const ComparedRow& row : rows)
    if (first.empty() ||
        std::bit_width(row.measured.bytes) != std::bit_width(first.back().measured.bytes))
      first.push_back(row);
  return first;
}

// A stretch of sizes in which an assumed bandwidth is off, or a line that says that there is none.
struct OffLine {
  const CurveReport& curve;
  const char* against;
  const OffRange* range;
};

std::string sizes_cell(const OffLine& line) {
  if (line.range == nullptr) return "none";
  const auto& [from, to, rows, least, most] = *line.range;
  return format_exact_bytes(from) + (to == from ? "" : " to " + format_exact_bytes(to));
}

std::string ratios_cell(const OffLine& line) {
  if (line.range == nullptr) return "-";
  const std::string least = ratio_cell(line.range->least);
  const std::string most = ratio_cell(line.range->most);
  return least == most ? least : least + ".." + most;
}

constexpr std::size_t most_rows = 240;  // of all curves, from which on none are shown

std::string row_tables(const CompareReport& report, bool all_rows) {
  std::string text;
  std::size_t shown = 0;
  for (const CurveReport& one : report.curves) {
    std::vector<ComparedRow> rows;
    std::string note = abridged(one, rows);
    if (all_rows) {
      rows = one.curve.rows;
      note.clear();
    }
    shown += rows.size();
    text += printable(one.curve.name) + (note.empty() ? "" : ": " + note) + "\n" +
            row_table(rows).text() + "\n";
  }
  return all_rows || shown <= most_rows ? text : "";
}

const ReportColumns<OffRange>& range_columns() {
  static const ReportColumns<OffRange> columns{
      {"from_bytes", &OffRange::from},
      {"to_bytes", &OffRange::to},
      {"rows", &OffRange::rows},
      {"least_ratio", &OffRange::least},  // null where nothing moves at all
      {"most_ratio", &OffRange::most}};
  return columns;
}

// What all rows of a curve have in common.
ReportColumns<Measurement> curve_columns() {
  using Row = Measurement;
  return {{"operation", [](const Row& row) { return to_string(row.operation); }},
          {"ranks", &Row::ranks},
          {"nodes", [](const Row& row) { return row.nodes == 0 ? Json() : Json(row.nodes); }},
          {"in_place", &Row::in_place},
          {"type", &Row::type},
          {"file", &Row::file}};
}

Json curve_json(const CurveReport& one) {
  Json json{{"name", one.curve.name}};
  json.update(
      json_object(picked(curve_columns(), {"operation", "ranks", "nodes", "in_place", "file"}),
                  one.curve.rows.front().measured));
  json["errors"] = json_object(error_columns(), one.errors);
  if (one.assumption)
    json["assumption_off"] = {{"measured", json_rows(range_columns(), one.assumption->measured)},
                              {"predicted", json_rows(range_columns(), one.assumption->predicted)}};
  json["rows"] = json_rows(row_columns(), one.curve.rows);
  return json;
}

}  // namespace

const ReportColumns<ComparedRow>& row_columns() {
  using Row = ComparedRow;
  const auto seconds = [](const Row& row) { return row.measured.seconds; };
  const auto measured = [](const Row& row) {
    return bus_bandwidth(row.measured, row.measured.seconds);
  };
  const auto predicted = [](const Row& row) { return bus_bandwidth(row.measured, row.predicted); };
  const Quantity us = Quantity::each_as(microseconds_cell);
  const Quantity gigabytes = Quantity::each_as(gigabytes_cell);
  static const ReportColumns<Row> columns{
      {"bytes", [](const Row& row) { return row.measured.bytes; }},
      table_only<Row>({"size",
                       {"size"},
                       Quantity::count(),
                       [](const Row& row) { return format_exact_bytes(row.measured.bytes); }}),
      {"measured_s", {"measured", "us"}, us, seconds},
      {"predicted_s", {"predicted", "us"}, us, &Row::predicted},
      {"error", {"error", "%"}, Quantity::each_as(percent_cell), &Row::error},
      {"measured_bus_bytes_per_s", {"measured", "busbw", "GB/s"}, gigabytes, measured},
      {"predicted_bus_bytes_per_s", {"predicted", "busbw", "GB/s"}, gigabytes, predicted},
      {"by", &Row::by},
      table_only<Row>(
          {"how",
           {"by"},
           Quantity::name(),
           [](const Row& row) { return row.by + (row.held_out ? " (not fitted to)" : ""); }}),
      {"held_out", &Row::held_out},
      {"line", [](const Row& row) { return row.measured.line; }}};
  return columns;
}

ReportColumns<ErrorSummary> error_columns() {
  using Errors = ErrorSummary;
  const Quantity percent = Quantity::each_as(percent_cell);
  return {{"rows", {"rows"}, Quantity::count(), &Errors::rows},
          {"median_error", {"median", "error", "%"}, percent, &Errors::median},
          {"p90_error", {"p90", "error", "%"}, percent, &Errors::p90},
          {"largest_error", {"largest", "error", "%"}, percent, &Errors::largest},
          {"bias", {"bias", "%"}, percent, &Errors::bias}};
}

ReportColumns<SizeRange> size_columns() {
  ReportColumns<SizeRange> columns{{"sizes", {"size"}, Quantity::name(), &SizeRange::name}};
  std::ranges::move(of_part<SizeRange>(error_columns(), &SizeRange::errors),
                    std::back_inserter(columns));
  return columns;
}

TextTable row_table(std::span<const ComparedRow> rows) {
  TextTable table;
  add_columns(table, row_columns(), rows);
  return table;
}

TextTable curve_table(const CompareReport& report) {
  ReportColumns<CurveReport> columns{
      {"curve", {"curve"}, Quantity::name(), [](const CurveReport& one) {
         return one.curve.name;
       }}};
  std::ranges::move(of_part<CurveReport>(error_columns(), &CurveReport::errors),
                    std::back_inserter(columns));
  TextTable table;
  add_columns(table, columns, report.curves);
  return table;
}

TextTable size_table(const CompareReport& report) {
  std::vector<SizeRange> ranges = report.by_size;
  ranges.push_back({"all", report.errors});
  TextTable table;
  add_columns(table, size_columns(), ranges);
  return table;
}

TextTable assumption_table(const CompareReport& report) {
  std::vector<OffLine> lines;
  for (const CurveReport& one : report.curves) {
    const auto add = [&](const char* against, const std::vector<OffRange>& ranges) {
      if (ranges.empty()) lines.push_back({one, against, nullptr});
      for (const OffRange& range : ranges) lines.push_back({one, against, &range});
    };
    add("measured", one.assumption->measured);
    add("predicted", one.assumption->predicted);
  }
  using Line = OffLine;
  const ReportColumns<Line> columns{
      {"curve",
       {"curve"},
       Quantity::name(),
       [](const Line& line) { return line.curve.curve.name; }},
      {"against", {"against"}, Quantity::name(), &Line::against},
      {"sizes", {"sizes"}, Quantity::name(), sizes_cell},
      {"rows",
       {"rows"},
       Quantity::count(),
       [](const Line& line) {
         return fmt::format("{} of {}", line.range == nullptr ? 0 : line.range->rows,
                            line.curve.curve.rows.size());
       }},
      {"ratio", {"assumed over", "actual busbw"}, Quantity::count(), ratios_cell}};
  TextTable table;
  add_columns(table, columns, lines);
  return table;
}

std::string abridged(const CurveReport& curve, std::vector<ComparedRow>& rows) {
  constexpr std::size_t most = 40;
  if (curve.curve.rows.size() <= most) {
    rows = curve.curve.rows;
    return "";
  }
  rows = one_each_doubling(curve.curve.rows);
  return fmt::format("{} of {} rows, one each doubling", rows.size(), curve.curve.rows.size());
}

std::string sentence(const OneSided& finding) {
  return fmt::format("{}{}predicted times are {} too {} (median; {} of {} rows are)", finding.sizes,
                     finding.sizes.empty() ? "" : ": ", format_percent(std::abs(finding.bias)),
                     finding.bias < 0 ? "short" : "long", finding.rows, finding.of);
}

std::string assumption_sentence(const CompareReport& report) {
  return fmt::format("where an assumed bus bandwidth of {:.4g} GB/s is off by more than {:.0f} %",
                     *report.assumed / 1e9, 100 * tolerated);
}

std::string summary_sentence(const CompareReport& report) {
  return fmt::format("{} {} on {}: error {} at the median, {} at the 90th percentile",
                     report.errors.rows, report.errors.rows == 1 ? "row" : "rows", report.cluster,
                     format_percent(report.errors.median), format_percent(report.errors.p90));
}

std::string console_text(const CompareReport& report, bool all_rows) {
  std::string text = row_tables(report, all_rows);
  if (report.curves.size() > 1) text += curve_table(report).text() + "\n";
  text += size_table(report).text() + "\n";
  if (report.assumed)
    text += assumption_sentence(report) + ":\n" + assumption_table(report).text() + "\n";
  text += printable(summary_sentence(report)) + "\n";
  for (const OneSided& finding : report.one_sided) text += sentence(finding) + "\n";
  return text;
}

std::string json_text(const CompareReport& report) {
  const ReportColumns<OneSided> one_sided{
      {"sizes", [](const OneSided& one) { return one.sizes.empty() ? "all" : one.sizes; }},
      {"bias", &OneSided::bias},
      {"rows", &OneSided::rows},
      {"of_rows", &OneSided::of}};
  const ReportColumns<LogRemark> remarks{
      {"file", &LogRemark::file}, {"line", &LogRemark::line}, {"text", &LogRemark::text}};
  Json json{{"cluster", report.cluster}, {"errors", json_object(error_columns(), report.errors)}};
  json["by_size"] = json_rows(size_columns(), report.by_size);
  json["one_sided"] = json_rows(one_sided, report.one_sided);
  if (report.assumed) json["assumed_bus_bytes_per_s"] = *report.assumed;
  json["curves"] = Json::array();
  for (const CurveReport& one : report.curves) json["curves"].push_back(curve_json(one));
  json["remarks"] = json_rows(remarks, report.remarks);
  return json_document(json);
}

std::string csv_text(const CompareReport& report) {
  const auto of_curve = of_part<ComparedRow>(
      picked(curve_columns(), {"operation", "ranks", "nodes", "in_place", "type"}),
      &ComparedRow::measured);
  const auto file = of_part<ComparedRow>(picked(curve_columns(), {"file"}), &ComparedRow::measured);
  ReportColumns<ComparedRow> columns = of_curve;
  for (const ReportColumn<ComparedRow>& column : row_columns()) {
    if (column.key == "line") columns.push_back(file.front());
    columns.push_back(column);
  }
  std::string text = csv_heading(columns) + '\n';
  for (const CurveReport& one : report.curves)
    for (const ComparedRow& row : one.curve.rows) text += csv_line(columns, row) + '\n';
  return text;
}

}  // namespace pipewright::analysis
