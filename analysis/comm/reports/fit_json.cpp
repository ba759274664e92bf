#include <array>
#include <optional>
#include <string_view>

#include "analysis/comm/reports/fit_report.hpp"
#include "analysis/report_table.hpp"

namespace pipewright::analysis {
namespace {

Json bound(double value, bool open) { return open ? Json(nullptr) : Json(value); }

Json errors_json(const ErrorSummary& errors) {
  if (errors.rows == 0) return nullptr;
  return {{"rows", errors.rows},
          {"median", errors.median},
          {"p90", errors.p90},
          {"largest", errors.largest},
          {"bias", errors.bias}};
}

Json both_json(std::span<const ComparedRow> before, std::span<const ComparedRow> after,
               bool held_out) {
  return {{"file", errors_json(errors_of(before, held_out))},
          {"fit", errors_json(errors_of(after, held_out))}};
}

std::string_view word(KeptBecause why) {
  constexpr std::array<std::string_view, 4> words{"no_trace", "likeness", "no_gain", "choice"};
  return words[static_cast<std::size_t>(why)];
}

Json row_json(const ComparedRow& row) {
  return {{"file", row.measured.file},
          {"line", row.measured.line},
          {"bytes", row.measured.bytes},
          {"held_out", row.held_out},
          {"measured_s", row.measured.seconds},
          {"predicted_s", row.predicted},
          {"error", row.error()}};
}

}  // namespace

std::string fit_json(const FitReport& report) {
  Json json;
  json["cluster"] = report.cluster;
  json["logs"] = report.files;
  json["parameters"] = Json::array();
  for (const FittedParameter& one : report.fitted)
    json["parameters"].push_back({{"name", one.name},
                                  {"unit", one.unit},
                                  {"file", one.before},
                                  {"fit", one.value},
                                  {"low", bound(one.low, one.open_low)},
                                  {"high", bound(one.high, one.open_high)}});
  json["keeps_expectations"] = report.keeps_expectations;
  json["alike"] = Json::array();
  for (const Likeness& pair : report.alike)
    json["alike"].push_back(
        {{"one", pair.one}, {"other", pair.other}, {"correlation", pair.correlation}});
  json["kept"] = Json::array();
  for (const KeptParameter& one : report.kept)
    json["kept"].push_back({{"name", one.name},
                            {"unit", one.unit},
                            {"value", one.value},
                            {"why", word(one.why)},
                            {"like", one.like.empty() ? Json(nullptr) : Json(one.like)}});
  json["robust_deviation"] = report.deviation;
  json["errors"] = {{"fitted", both_json(report.before, report.after, false)},
                    {"held_out", both_json(report.before, report.after, true)}};
  json["curves"] = Json::array();
  const std::vector<ComparedCurve> before = curves_of(report.before);
  const std::vector<ComparedCurve> after = curves_of(report.after);
  for (std::size_t i = 0; i < after.size(); ++i)
    json["curves"].push_back({{"name", after[i].name},
                              {"fitted", both_json(before[i].rows, after[i].rows, false)},
                              {"held_out", both_json(before[i].rows, after[i].rows, true)}});
  json["outliers"] = Json::array();
  for (const std::size_t row : report.outliers)
    json["outliers"].push_back(row_json(report.after[row]));
  return json_document(json);
}

}  // namespace pipewright::analysis
