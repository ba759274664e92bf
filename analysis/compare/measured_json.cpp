#include "analysis/compare/against_measured.hpp"
#include "analysis/compare/compare_json.hpp"

namespace pipewright::analysis {
namespace {

Json side_json(const std::string& name, const trace::RunInfo& run,
               const IterationFigures& figures) {
  Json json;
  json["file"] = name;
  json["devices"] = run.devices;
  json["microbatches"] = run.microbatches;
  json["iterations"] = figures.iterations;
  json["metrics"] = metrics_json(metrics_of(figures));
  json["pass_span_deviation_s"] = figures.pass_span_deviation_s;
  return json;
}

Json time_json(const std::optional<PassTime>& time) {
  if (!time) return nullptr;
  return {{"passes", time->passes},         {"mean_s", time->mean},   {"median_s", time->median},
          {"deviation_s", time->deviation}, {"least_s", time->least}, {"most_s", time->most}};
}

}  // namespace

std::string json_text(const MeasuredComparison& comparison) {
  const AgainstMeasured& result = comparison.result;
  Json json;
  json["predicted"] =
      side_json(comparison.predicted_name, comparison.predicted_run, result.predicted);
  json["measured"] = side_json(comparison.measured_name, comparison.measured_run, result.measured);
  // Of the prediction against the measurement.
  json["errors"] = differences_json(metrics_of(result.measured), metrics_of(result.predicted));
  json["passes"] = Json::array();
  for (const PassTimeError& one : result.passes) {
    Json entry;
    entry["stage"] = one.stage;
    entry["kind"] = pass_letter(one.kind);
    entry["predicted"] = time_json(one.predicted);
    entry["measured"] = time_json(one.measured);
    const auto error = one.error();
    entry["error"] = error ? Json(*error) : Json(nullptr);
    json["passes"].push_back(std::move(entry));
  }
  json["notes"] = comparison.notes;
  json["conditions"] = judgements_json(comparison.judgements);
  return text_of(json);
}

}  // namespace pipewright::analysis
