#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/comm/reports/compare_report.hpp"
#include "analysis/text_table.hpp"

namespace pipewright::analysis {
namespace {

using Json = nlohmann::ordered_json;

Json errors_json(const ErrorSummary& errors) {
  return {{"rows", errors.rows},
          {"median_error", errors.median},
          {"p90_error", errors.p90},
          {"largest_error", errors.largest},
          {"bias", errors.bias}};
}

Json row_json(const ComparedRow& row) {
  const Measurement& measured = row.measured;
  return {{"bytes", measured.bytes},
          {"measured_s", measured.seconds},
          {"predicted_s", row.predicted},
          {"error", row.error()},
          {"measured_bus_bytes_per_s", bus_bandwidth(measured, measured.seconds)},
          {"predicted_bus_bytes_per_s", bus_bandwidth(measured, row.predicted)},
          {"by", row.by},
          {"held_out", row.held_out},
          {"line", measured.line}};
}

Json ranges_json(const std::vector<OffRange>& ranges) {
  Json list = Json::array();
  for (const OffRange& range : ranges)
    list.push_back({{"from_bytes", range.from},
                    {"to_bytes", range.to},
                    {"rows", range.rows},
                    {"least_ratio", range.least},  // null where nothing moves at all
                    {"most_ratio", range.most}});
  return list;
}

Json curve_json(const CurveReport& one) {
  const Measurement& first = one.curve.rows.front().measured;
  Json json{{"name", one.curve.name},
            {"operation", to_string(first.operation)},
            {"ranks", first.ranks},
            {"nodes", first.nodes == 0 ? Json(nullptr) : Json(first.nodes)},
            {"in_place", first.in_place},
            {"file", first.file},
            {"errors", errors_json(one.errors)}};
  if (one.assumption)
    json["assumption_off"] = {{"measured", ranges_json(one.assumption->measured)},
                              {"predicted", ranges_json(one.assumption->predicted)}};
  json["rows"] = Json::array();
  for (const ComparedRow& row : one.curve.rows) json["rows"].push_back(row_json(row));
  return json;
}

}  // namespace

std::string json_text(const CompareReport& report) {
  Json json{{"cluster", report.cluster}, {"errors", errors_json(report.errors)}};
  json["by_size"] = Json::array();
  for (const SizeRange& range : report.by_size) {
    Json entry{{"sizes", range.name}};
    entry.update(errors_json(range.errors));
    json["by_size"].push_back(std::move(entry));
  }
  json["one_sided"] = Json::array();
  for (const OneSided& one : report.one_sided)
    json["one_sided"].push_back({{"sizes", one.sizes.empty() ? "all" : one.sizes},
                                 {"bias", one.bias},
                                 {"rows", one.rows},
                                 {"of_rows", one.of}});
  if (report.assumed) json["assumed_bus_bytes_per_s"] = *report.assumed;
  json["curves"] = Json::array();
  for (const CurveReport& one : report.curves) json["curves"].push_back(curve_json(one));
  json["remarks"] = Json::array();
  for (const LogRemark& remark : report.remarks)
    json["remarks"].push_back(
        {{"file", remark.file}, {"line", remark.line}, {"text", remark.text}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string csv_text(const CompareReport& report) {
  std::string text =
      "operation,ranks,nodes,in_place,type,bytes,measured_s,predicted_s,error,"
      "measured_bus_bytes_per_s,predicted_bus_bytes_per_s,by,held_out,file,line\n";
  for (const CurveReport& one : report.curves)
    for (const ComparedRow& row : one.curve.rows) {
      const Measurement& measured = row.measured;
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", to_string(measured.operation),
          measured.ranks, measured.nodes == 0 ? "" : fmt::to_string(measured.nodes),
          measured.in_place, csv_field(measured.type), measured.bytes, measured.seconds,
          row.predicted, row.error(), bus_bandwidth(measured, measured.seconds),
          bus_bandwidth(measured, row.predicted), csv_field(row.by), row.held_out,
          csv_field(measured.file), measured.line);
    }
  return text;
}

}  // namespace pipewright::analysis
