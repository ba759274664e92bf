#include "analysis/compare/compare_json.hpp"
#include "analysis/compare/trace_comparison.hpp"

namespace pipewright::analysis {
namespace {

Json move_json(const Moved& move) {
  Json json;
  add_pass(json, move.pass);
  json["device"] = move.second_device;
  json["baseline_device"] = move.first_device;
  json["start_s"] = move.second_start;
  json["baseline_start_s"] = move.first_start;
  json["shift_s"] = move.shift();
  json["duration_s"] = move.second_length;
  json["baseline_duration_s"] = move.first_length;
  return json;
}

Json moves_json(const Moves& moves) {
  Json json;
  if (!moves.not_comparable.empty()) {
    json["not_compared"] = moves.not_comparable;
    return json;
  }
  json["in_both"] = moves.matched;
  json["only_in_baseline"] = moves.only_first;
  json["only_here"] = moves.only_second;
  json["on_another_device"] = moves.elsewhere;
  json["later"] = moves.later;
  json["earlier"] = moves.earlier;
  json["unmoved"] = moves.unmoved;
  json["longer"] = moves.longer;
  json["shorter"] = moves.shorter;
  json["first_to_differ"] = moves.first ? move_json(*moves.first) : Json(nullptr);
  json["largest_shifts"] = Json::array();
  for (const Moved& move : moves.largest) json["largest_shifts"].push_back(move_json(move));
  json["by_stage_and_kind"] = Json::array();
  for (const KindChange& kind : moves.kinds)
    json["by_stage_and_kind"].push_back({{"stage", kind.stage},
                                         {"kind", pass_letter(kind.kind)},
                                         {"passes", kind.passes},
                                         {"later", kind.later},
                                         {"earlier", kind.earlier},
                                         {"mean_shift_s", kind.mean_shift},
                                         {"mean_duration_s", kind.second_length},
                                         {"baseline_mean_duration_s", kind.first_length}});
  return json;
}

Json run_json(const RunFigures& run) {
  Json json;
  json["file"] = run.name;
  json["schedule"] = run.summary.run.schedule;
  json["metrics"] = metrics_json(metrics_of(run));
  json["devices"] = Json::array();
  for (const DeviceSummary& device : run.summary.devices)
    json["devices"].push_back({{"device", device.device},
                               {"busy_s", device.busy_s},
                               {"exposed_communication_s", device.exposed.total_s()},
                               {"peak_memory_bytes", device.peak_memory_bytes}});
  return json;
}

}  // namespace

std::string json_text(const TraceComparison& comparison) {
  const RunFigures& first = comparison.runs.front();
  Json json;
  json["baseline"] = run_json(first);
  json["others"] = Json::array();
  for (std::size_t i = 1; i < comparison.runs.size(); ++i) {
    Json run = run_json(comparison.runs[i]);
    run["differences"] = differences_json(metrics_of(first), metrics_of(comparison.runs[i]));
    run["notes"] = unlike_notes(first, comparison.runs[i]);
    run["passes"] = moves_json(comparison.moves[i - 1]);
    json["others"].push_back(std::move(run));
  }
  json["notes"] = Json::array();
  if (const std::string note = link_note(comparison.runs); !note.empty())
    json["notes"].push_back(note);
  json["conditions"] = judgements_json(comparison.judgements);
  return text_of(json);
}

}  // namespace pipewright::analysis
