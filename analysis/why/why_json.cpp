#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/palette.hpp"
#include "analysis/why/why.hpp"

namespace pipewright::analysis {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json path_json(const PathSplit& path, double makespan) {
  Json parts = Json::array();
  for (const PathShare& one : path.parts) {
    Json part{{"part", words(one.part)}};
    if (one.part == CriticalPart::compute) part["kind"] = std::string(1, style(one.kind).letter);
    if (!one.link_class.empty()) part["link_class"] = one.link_class;
    part["seconds"] = one.seconds;
    part["share"] = one.seconds / makespan;
    if (one.contention_s) part["contention_s"] = *one.contention_s;
    part["pieces"] = one.pieces;
    parts.push_back(std::move(part));
  }
  Json stages = Json::array();
  for (const StageShare& one : path.stages)
    stages.push_back({{"stage", one.stage}, {"seconds", one.seconds}});
  return {{"computing_s", path.computing_s}, {"communication_s", path.communication_s},
          {"optimizer_s", path.optimizer_s}, {"waiting_s", path.waiting_s},
          {"parts", std::move(parts)},       {"stages", std::move(stages)}};
}

Json device_json(const TimeSplit& split) {
  Json compute = Json::object();
  for (std::size_t kind = 0; kind < split.compute_s.size(); ++kind)
    compute[std::string(1, kind_styles[kind].letter)] = split.compute_s[kind];
  return {{"device", split.device},
          {"compute_s", std::move(compute)},
          {"in_passes_s", split.in_passes_s},
          {"p2p_s", split.p2p_s},
          {"weights_s", split.weights_s},
          {"gradients_s", split.gradients_s},
          {"embeddings_s", split.embeddings_s},
          {"norm_s", split.norm_s},
          {"optimizer_s", split.optimizer_s},
          {"warm_up_s", split.warm_up_s},
          {"steady_s", split.steady_s},
          {"cool_down_s", split.cool_down_s},
          {"imbalance_s", split.imbalance_s}};
}

Json slack_json(const Slack& slack) {
  Json stages = Json::array();
  for (const StageSlack& one : slack.stages)
    stages.push_back({{"stage", one.stage},
                      {"slack", number(one.slack)},
                      {"slack_s", number(one.seconds)},
                      {"cost_of_10_percent_s", one.cost_s},
                      {"mean_pass_s", one.mean_pass_s},
                      {"passes", one.passes}});
  Json links = Json::array();
  for (const LinkSlack& one : slack.links)
    links.push_back({{"link_class", one.link_class},
                     {"slack", number(one.slack)},
                     {"slack_s", number(one.seconds)},
                     {"cost_of_10_percent_s", one.cost_s},
                     {"mean_transfer_s", one.mean_transfer_s},
                     {"transfers", one.transfers}});
  return {{"stages", std::move(stages)}, {"links", std::move(links)}};
}

Json what_if_json(const WhatIf& what_if) {
  Json rows = Json::array();
  for (const WhatIfRow& one : what_if.rows) {
    Json row{{"change", one.change}};
    if (one.makespan_s) {
      row["makespan_s"] = *one.makespan_s;
      row["gain_s"] = gain_s(what_if, one);
      row["gain"] = gain_s(what_if, one) / what_if.rerun_s;
      if (one.overflow)
        row["does_not_fit"] = {{"device", one.overflow->device},
                               {"peak_memory_bytes", one.overflow->peak_bytes},
                               {"memory_capacity_bytes", one.overflow->capacity_bytes}};
    } else {
      row["why_not"] = one.why_not;
    }
    rows.push_back(std::move(row));
  }
  return {{"rerun_s", what_if.rerun_s}, {"notes", what_if.notes}, {"rows", std::move(rows)}};
}

}  // namespace

std::string why_json_text(const WhyReport& report) {
  Json devices = Json::array();
  for (const TimeSplit& split : report.devices) devices.push_back(device_json(split));
  Json all{{"schedule", report.schedule},
           {"makespan_s", report.makespan_s},
           {"verdict", report.verdict},
           {"knows_inputs", report.knows_inputs},
           {"critical_path", path_json(report.path, report.makespan_s)},
           {"devices", std::move(devices)},
           {"slack", slack_json(report.slack)}};
  if (report.what_if) all["what_if"] = what_if_json(*report.what_if);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipewright::analysis
