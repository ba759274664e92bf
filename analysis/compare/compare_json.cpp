#include "analysis/compare/compare_json.hpp"

#include <cmath>

namespace pipewright::analysis {
namespace {

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

Json metrics_json(const Metrics& metrics) {
  Json json = Json::object();
  for (const Metric& metric : metrics)
    json[metric.name] = metric.value ? Json(*metric.value) : Json(nullptr);
  return json;
}

Json differences_json(const Metrics& base, const Metrics& run) {
  Json json = Json::object();
  for (const Metric& metric : run) {
    const Metric* const first = find_metric(base, metric.name);
    if (!metric.value || first == nullptr || !first->value) continue;
    json[metric.name] = {{"difference", difference(*first->value, *metric.value)},
                         {"change", finite(relative_change(*first->value, *metric.value))}};
  }
  return json;
}

Json judgements_json(std::span<const Judgement> judgements) {
  Json json = Json::array();
  for (const Judgement& one : judgements) {
    Json entry;
    entry["condition"] = one.condition.text;
    entry["metric"] = one.condition.metric;
    entry["file"] = one.name;
    entry["value"] = one.value;
    entry["baseline"] = one.condition.operand == Operand::value ? Json(nullptr) : Json(one.base);
    entry["holds"] = one.holds;
    json.push_back(std::move(entry));
  }
  return json;
}

void add_pass(Json& json, const PassKey& pass) {
  json["stage"] = pass.stage;
  json["kind"] = pass_letter(pass.kind);
  json["microbatch"] = pass.microbatch;
  json["iteration"] = pass.iteration;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace pipewright::analysis
