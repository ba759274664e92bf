#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "analysis/search/choices.hpp"
#include "analysis/search/columns.hpp"
#include "analysis/search/findings.hpp"
#include "analysis/search/results_layout.hpp"
#include "analysis/search/runner_up.hpp"
#include "analysis/search/search_export.hpp"
#include "analysis/search/search_report.hpp"

namespace pipewright::analysis {
namespace {

using Json = nlohmann::ordered_json;

// Names come from files: bytes that are no UTF-8 become U+FFFD.
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json objective_json(const Objective& objective) {
  Json json{{"kind", results::objective_names.at(static_cast<std::size_t>(objective.kind))},
            {"name", name_of(objective)}};
  switch (objective.kind) {
    case Objective::Kind::price:
      json["price_per_gpu_hour"] = objective.price_per_gpu_hour;
      json["currency"] = objective.currency;
      [[fallthrough]];
    case Objective::Kind::time_to_train:
      json["tokens"] = objective.tokens;
      break;
    case Objective::Kind::memory:
      json[objective.floor_in_samples ? "floor_samples_per_s" : "floor_tokens_per_s"] =
          objective.floor;
      break;
    default:
      break;
  }
  return json;
}

Json space_json(const SearchRun& run) {
  Json axes = Json::array();
  for (const SearchAxis& axis : run.axes)
    axes.push_back({{"key", axis.key}, {"name", axis.name}, {"values", axis.values}});
  return axes;
}

Json excluded_json(const SearchRun& run) {
  Json rules = Json::array();
  for (const Excluded& one : run.excluded)
    rules.push_back({{"rule", one.rule}, {"combinations", one.combinations}});
  return rules;
}

Json candidate_json(const SearchRun& run, const CandidateRow& row) {
  Json json{{"candidate", row.candidate}};
  if (row.group < run.groups.size()) json["group"] = run.groups[row.group];
  json["outcome"] = outcome_names.at(static_cast<std::size_t>(row.outcome));
  if (!row.note.empty()) json["note"] = row.note;
  Json& values = json["values"] = Json::object();
  const std::vector<std::uint32_t> digits = choices(run.axes, row.candidate);
  for (std::size_t axis = 0; axis < digits.size(); ++axis)
    values[run.axes[axis].key] = run.axes[axis].values[digits[axis]];
  for (const trace::Column& column : figure_columns) {
    if (bits(row, column) == 0) continue;
    if (column.type == trace::ColumnType::u64)
      json[column.name] = figure<std::uint64_t>(row, column);
    else
      json[column.name] = number(figure<double>(row, column));
  }
  if (row.outcome != Outcome::simulated) return json;
  if (row.work.samples > 0) json["samples_per_s"] = row.work.samples / row.time_s;
  if (row.work.tokens > 0) json["tokens_per_s"] = row.work.tokens / row.time_s;
  if (const double share = mfu(row.work, row.time_s); share > 0) json["mfu"] = share;
  if (run.objective.kind == Objective::Kind::time_to_train)
    json["time_to_train_s"] = number(cost_of(run, row));
  if (run.objective.kind == Objective::Kind::price) json["price"] = number(cost_of(run, row));
  return json;
}

Json runner_up_json(const SearchRun& run, const std::optional<Comparison>& lost) {
  if (!lost) return nullptr;
  Json parts = Json::object();
  for (const Comparison::Part& part : lost->parts)
    parts[part_words[part.part].words] = part.seconds;
  return {{"candidate", run.rows[lost->worse].candidate},
          {"behind", lost->behind},
          {"more_s", lost->seconds},
          {"more_bytes", lost->bytes},
          {"more_s_by_part", parts}};
}

Json findings_json(const SearchRun& run, const Findings& findings) {
  Json json;
  for (std::size_t outcome = 0; outcome < outcome_names.size(); ++outcome)
    json["outcomes"][outcome_names[outcome]] = findings.outcomes[outcome];
  json["proof"] = proof_text(run, findings);
  json["best"] = findings.best ? Json(run.rows[*findings.best].candidate) : Json(nullptr);
  json["runner_up"] = runner_up_json(run, runner_up(run, findings));
  json["failed_with_better_bounds"] = Json::array();
  for (const std::size_t i : findings.failed_hopes)
    json["failed_with_better_bounds"].push_back(run.rows[i].candidate);
  json["fronts"] = Json::array();
  for (std::size_t group = 0; group < run.groups.size(); ++group) {
    Json candidates = Json::array();
    for (const std::size_t i : findings.fronts[group]) candidates.push_back(run.rows[i].candidate);
    json["fronts"].push_back({{"group", run.groups[group]}, {"candidates", candidates}});
  }
  return json;
}

}  // namespace

void write_search_json(std::ostream& stream, const SearchRun& run) {
  Json head{{"title", run.title},
            {"sweep", run.sweep},
            {"objective", objective_json(run.objective)},
            {"groups", run.groups},
            {"axes", space_json(run)},
            {"combinations", number(run.combinations)},
            {"excluded", excluded_json(run)},
            {"exhaustive", run.exhaustive},
            {"finished", run.finished},
            {"gap", number(run.gap)}};
  head.update(findings_json(run, find(run)));
  std::string text = text_of(head, 2);
  text.resize(text.size() - 2);  // the candidates come before the last brace
  stream << text << ",\n  \"candidates\": [";
  const char* before = "\n    ";
  for (const CandidateRow& row : run.rows) {
    stream << before << text_of(candidate_json(run, row), -1);
    before = ",\n    ";
  }
  stream << (run.rows.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

}  // namespace pipewright::analysis
