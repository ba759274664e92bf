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

std::string compare_percent_cell(double error) {
  const double tenths = std::round(1000 * error);
  return fmt::format("{:.1f}", tenths == 0 ? 0.0 : tenths / 10);
}

// Formats a time or a bandwidth with as many digits as nccl-tests prints.
std::string compare_microseconds_cell(double seconds) {
  const double us = seconds * 1e6;
  return fmt::format("{:.{}f}", us, us < 999.995 ? 2 : us < 9999.95 ? 1 : 0);
}
std::string compare_gigabytes_cell(double bytes_per_s) {
  return fmt::format("{:.2f}", bytes_per_s / 1e9);
}

std::string ratio_cell(double ratio) {
  return ratio < 99.5 ? fmt::format("{:.3g}", ratio) : fmt::format("{:.0f}", ratio);
}

std::vector<ComparedRow> first_rows_of_doublings(std::span<const ComparedRow> rows) {
  std::vector<ComparedRow> sample;
  for (const ComparedRow& row : rows)
    if (sample.empty() ||
        std::bit_width(row.measured.bytes) != std::bit_width(sample.back().measured.bytes))
      sample.push_back(row);
  return sample;
}

// One row of the table that checks an assumed bandwidth: a range of sizes at which it is wrong, or
// a curve along which it is right (`range` is null).
struct DeviationLine {
  const CurveReport& curve;
  const char* reference;
  const DeviationRange* range;
};

std::string sizes_cell(const DeviationLine& line) {
  if (line.range == nullptr) return "none";
  const auto& [from, to, rows, min_ratio, max_ratio] = *line.range;
  return format_exact_bytes(from) + (to == from ? "" : " to " + format_exact_bytes(to));
}

std::string ratios_cell(const DeviationLine& line) {
  if (line.range == nullptr) return "-";
  const std::string min_text = ratio_cell(line.range->min_ratio);
  const std::string max_text = ratio_cell(line.range->max_ratio);
  return min_text == max_text ? min_text : min_text + ".." + max_text;
}

// Largest number of rows, over all curves, up to which the console shows rows at all.
constexpr std::size_t max_console_rows = 240;

std::string row_tables(const CompareReport& report, bool all_rows) {
  std::string text;
  std::size_t shown_rows = 0;
  for (const CurveReport& curve_report : report.curves) {
    std::vector<ComparedRow> rows;
    std::string note = abridged(curve_report, rows);
    if (all_rows) {
      rows = curve_report.curve.rows;
      note.clear();
    }
    shown_rows += rows.size();
    text += printable(curve_report.curve.name) + (note.empty() ? "" : ": " + note) + "\n" +
            row_table(rows).text() + "\n";
  }
  return all_rows || shown_rows <= max_console_rows ? text : "";
}

const ReportColumns<DeviationRange>& range_columns() {
  static const ReportColumns<DeviationRange> columns{
      {"from_bytes", &DeviationRange::from},
      {"to_bytes", &DeviationRange::to},
      {"rows", &DeviationRange::rows},
      {"least_ratio", &DeviationRange::min_ratio},  // null if nothing moves at all.
      {"most_ratio", &DeviationRange::max_ratio}};
  return columns;
}

// Columns that have the same value in all rows of a curve.
ReportColumns<Measurement> curve_columns() {
  using Row = Measurement;
  return {{"operation", [](const Row& row) { return to_string(row.operation); }},
          {"ranks", &Row::ranks},
          {"nodes", [](const Row& row) { return row.nodes == 0 ? Json() : Json(row.nodes); }},
          {"in_place", &Row::in_place},
          {"type", &Row::type},
          {"file", &Row::file}};
}

Json curve_json(const CurveReport& curve_report) {
  Json json{{"name", curve_report.curve.name}};
  json.update(
      json_object(picked(curve_columns(), {"operation", "ranks", "nodes", "in_place", "file"}),
                  curve_report.curve.rows.front().measured));
  json["errors"] = json_object(error_columns(), curve_report.errors);
  if (curve_report.assumption)
    json["assumption_off"] = {
        {"measured", json_rows(range_columns(), curve_report.assumption->measured)},
        {"predicted", json_rows(range_columns(), curve_report.assumption->predicted)}};
  json["rows"] = json_rows(row_columns(), curve_report.curve.rows);
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
  const Quantity us = Quantity::each_as(compare_microseconds_cell);
  const Quantity gigabytes = Quantity::each_as(compare_gigabytes_cell);
  static const ReportColumns<Row> columns{
      {"bytes", [](const Row& row) { return row.measured.bytes; }},
      table_only<Row>({"size",
                       {"size"},
                       Quantity::count(),
                       [](const Row& row) { return format_exact_bytes(row.measured.bytes); }}),
      {"measured_s", {"measured", "us"}, us, seconds},
      {"predicted_s", {"predicted", "us"}, us, &Row::predicted},
      {"error", {"error", "%"}, Quantity::each_as(compare_percent_cell), &Row::error},
      {"measured_bus_bytes_per_s", {"measured", "busbw", "GB/s"}, gigabytes, measured},
      {"predicted_bus_bytes_per_s", {"predicted", "busbw", "GB/s"}, gigabytes, predicted},
      {"by", &Row::method},
      table_only<Row>(
          {"how",
           {"algorithm"},
           Quantity::name(),
           [](const Row& row) { return row.method + (row.held_out ? " (held out)" : ""); }}),
      {"held_out", &Row::held_out},
      {"line", [](const Row& row) { return row.measured.line; }}};
  return columns;
}

ReportColumns<ErrorSummary> error_columns() {
  using Errors = ErrorSummary;
  const Quantity percent = Quantity::each_as(compare_percent_cell);
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
      {"curve", {"curve"}, Quantity::name(), [](const CurveReport& curve_report) {
         return curve_report.curve.name;
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
  std::vector<DeviationLine> lines;
  for (const CurveReport& curve_report : report.curves) {
    const auto add = [&](const char* reference, const std::vector<DeviationRange>& ranges) {
      if (ranges.empty()) lines.push_back({curve_report, reference, nullptr});
      for (const DeviationRange& range : ranges) lines.push_back({curve_report, reference, &range});
    };
    add("measured", curve_report.assumption->measured);
    add("predicted", curve_report.assumption->predicted);
  }
  using Line = DeviationLine;
  const ReportColumns<Line> columns{
      {"curve",
       {"curve"},
       Quantity::name(),
       [](const Line& line) { return line.curve.curve.name; }},
      {"reference", {"reference"}, Quantity::name(), &Line::reference},
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
  constexpr std::size_t max_rows = 40;
  if (curve.curve.rows.size() <= max_rows) {
    rows = curve.curve.rows;
    return "";
  }
  rows = first_rows_of_doublings(curve.curve.rows);
  return fmt::format("{} of {} rows, one each doubling", rows.size(), curve.curve.rows.size());
}

std::string sentence(const OneSided& finding) {
  return fmt::format("{}{}predicted times are {} too {} (median; {} of {} rows err this way)",
                     finding.sizes, finding.sizes.empty() ? "" : ": ",
                     format_percent(std::abs(finding.bias)), finding.bias < 0 ? "short" : "long",
                     finding.rows, finding.row_count);
}

std::string assumption_sentence(const CompareReport& report) {
  return fmt::format(
      "sizes at which an assumed bus bandwidth of {:.4g} GB/s is off by more than {:.0f} %",
      *report.assumed / 1e9, 100 * tolerated_deviation);
}

std::string summary_sentence(const CompareReport& report) {
  return fmt::format("{} {} on {}: median error {}, 90th percentile {}", report.errors.rows,
                     report.errors.rows == 1 ? "row" : "rows", report.cluster,
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
      {"sizes",
       [](const OneSided& finding) { return finding.sizes.empty() ? "all" : finding.sizes; }},
      {"bias", &OneSided::bias},
      {"rows", &OneSided::rows},
      {"of_rows", &OneSided::row_count}};
  const ReportColumns<LogRemark> remarks{
      {"file", &LogRemark::file}, {"line", &LogRemark::line}, {"text", &LogRemark::text}};
  Json json{{"cluster", report.cluster}, {"errors", json_object(error_columns(), report.errors)}};
  json["by_size"] = json_rows(size_columns(), report.by_size);
  json["one_sided"] = json_rows(one_sided, report.one_sided);
  if (report.assumed) json["assumed_bus_bytes_per_s"] = *report.assumed;
  json["curves"] = Json::array();
  for (const CurveReport& curve_report : report.curves)
    json["curves"].push_back(curve_json(curve_report));
  json["remarks"] = json_rows(remarks, report.remarks);
  return json_document(json);
}

std::string csv_text(const CompareReport& report) {
  const auto curve_part = of_part<ComparedRow>(
      picked(curve_columns(), {"operation", "ranks", "nodes", "in_place", "type"}),
      &ComparedRow::measured);
  const auto file_column =
      of_part<ComparedRow>(picked(curve_columns(), {"file"}), &ComparedRow::measured);
  ReportColumns<ComparedRow> columns = curve_part;
  for (const ReportColumn<ComparedRow>& column : row_columns()) {
    if (column.key == "line") columns.push_back(file_column.front());
    columns.push_back(column);
  }
  std::string text = csv_heading(columns) + '\n';
  for (const CurveReport& curve_report : report.curves)
    for (const ComparedRow& row : curve_report.curve.rows) text += csv_line(columns, row) + '\n';
  return text;
}

}  // namespace pipewright::analysis
