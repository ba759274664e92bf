#include "analysis/compare/compare_json.hpp"

namespace pipewright::analysis {

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
                         {"change", relative_change(*first->value, *metric.value)}};
  }
  return json;
}

Json judgements_json(std::span<const Judgement> judgements) {
  const ReportColumns<Judgement> columns{
      {"condition", [](const Judgement& one) { return one.condition.text; }},
      {"metric", [](const Judgement& one) { return one.condition.metric; }},
      {"file", &Judgement::name},
      {"value", &Judgement::value},
      {"baseline",
       [](const Judgement& one) {
         return one.condition.operand == Operand::value ? Json() : Json(one.base);
       }},
      {"holds", &Judgement::holds}};
  return json_rows(columns, judgements);
}

ReportColumns<PassKey> pass_columns() {
  return {{"stage", &PassKey::stage},
          {"kind", [](const PassKey& pass) { return pass_letter(pass.kind); }},
          {"microbatch", &PassKey::microbatch},
          {"iteration", &PassKey::iteration}};
}

}  // namespace pipewright::analysis
