#include "analysis/comm/reports/compare_report.hpp"
#include "analysis/comm/reports/compare_tables.hpp"
#include "analysis/report_table.hpp"

namespace pipewright::analysis {
namespace {

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
