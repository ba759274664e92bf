#include "analysis/report/search/search_export.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/names.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/search_report.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/evidence_json.hpp"

namespace pipewright::analysis {
namespace {

std::string csv_number(const CandidateRow& row, const CandidateFigure& figure) {
  return visit_figure(row, figure, [](auto value) {
    return is_known_figure(value) ? fmt::to_string(value) : std::string();
  });
}

// A figure computed from other figures of a simulated row; 0 if it is unknown.
struct DerivedFigure {
  const char* key;
  const char* help;
  double (*value)(const CandidateRow& row);
};
constexpr std::array derived_figures{
    DerivedFigure{"samples_per_s", "samples / time_s",
                  [](const CandidateRow& row) { return row.work.samples / row.time_s; }},
    DerivedFigure{"tokens_per_s", "tokens / time_s",
                  [](const CandidateRow& row) { return row.work.tokens / row.time_s; }},
    DerivedFigure{"mfu", "model_flop / (time_s * peak_flop_per_s)",
                  [](const CandidateRow& row) { return mfu(row.work, row.time_s); }},
    DerivedFigure{
        "mfu_full_attention", "full_attention_flop / (time_s * peak_flop_per_s)",
        [](const CandidateRow& row) { return mfu_full_attention(row.work, row.time_s); }}};

// Returns the headings of the CSV columns that exist only for this kind of objective.
std::vector<std::string> objective_headings(const Objective& objective) {
  switch (objective.kind) {
    case Objective::Kind::time_to_train:
      return {"time_to_train_s"};
    case Objective::Kind::price:
      return {csv_field(fmt::format("price ({})", objective.currency))};
    case Objective::Kind::tokens_a_day:
      return {"effective_training_time_ratio", "tokens_per_day"};
    default:
      return {};
  }
}

// Returns the CSV fields of a simulated row that belong to the headings of objective_headings().
std::string objective_values(const SearchRun& run, const CandidateRow& row) {
  if (run.objective.kind != Objective::Kind::tokens_a_day)
    return fmt::format(",{}", cost_of(run, row));
  return fmt::format(",{},{}", 1 - row.work.lost_part, work_per_day(row.work, row.time_s));
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json number(std::uint64_t value) { return value; }

Json objective_to_json(const Objective& objective) {
  Json json{{"kind", objective_names.at(static_cast<std::size_t>(objective.kind))},
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
    case Objective::Kind::tokens_a_day:
      json["seeds"] = objective.seeds;
      break;
    default:
      break;
  }
  return json;
}

// Returns the shard of the search as an object, or null if it covers the whole sweep.
Json shard_json(const SearchRun& run) {
  if (run.shard.count == 1) return nullptr;
  return {{"number", run.shard.number}, {"count", run.shard.count}};
}

// Returns, under the name of each axis with several values, the best candidate for each value.
Json best_by_json(const SearchRun& run) {
  Json json = Json::object();
  const auto candidate_of = [&](const std::optional<std::size_t>& row) {
    return row ? Json(run.rows[*row].candidate) : Json(nullptr);
  };
  for (const std::size_t axis : open_axes(run)) {
    Json& values = json[run.axes[axis].name] = Json::array();
    for (const BestForValue& best : best_by(run, axis))
      values.push_back({{"value", run.axes[axis].values[best.value]},
                        {"best", candidate_of(best.row)},
                        {"better_bound", candidate_of(best.bound)}});
  }
  return json;
}

Json findings_json(const SearchRun& run, const Findings& findings) {
  Json json;
  for (std::size_t outcome = 0; outcome < outcome_names.size(); ++outcome)
    json["outcomes"][outcome_names[outcome]] = findings.outcomes[outcome];
  json["not_looked_at"] = number(findings.not_looked_at);
  json["proof"] = proof_text(run, findings);
  json["best"] = findings.best ? Json(run.rows[*findings.best].candidate) : Json(nullptr);
  json["best_by"] = best_by_json(run);
  const auto lost = runner_up(run, findings);
  json["runner_up"] = lost ? loss_json(run, *lost) : Json(nullptr);
  json["failed_with_better_bounds"] = Json::array();
  for (const std::size_t i : findings.failed_contenders)
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

Json loss_json(const SearchRun& run, const Comparison& lost) {
  const Comparison wall_time = compare_wall_time(run, lost.better, lost.worse);
  Json parts = Json::object();
  for (const Comparison::Part& part : wall_time.parts)
    parts[time_part_names[part.part].text] = part.seconds;
  Json json{{"candidate", run.rows[lost.worse].candidate},
            {"behind", lost.behind},
            {"more_s", wall_time.seconds},
            {"more_bytes", lost.bytes},
            {"more_s_by_part", parts},
            {"gpus", run.rows[lost.worse].work.gpus},
            {"gpus_of_better", run.rows[lost.better].work.gpus}};
  if (run.objective.kind == Objective::Kind::tokens_a_day)
    json["more_lost_time_ratio"] =
        run.rows[lost.worse].work.lost_part - run.rows[lost.better].work.lost_part;
  return json;
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
  for (const CandidateFigure& figure : candidate_figures)
    visit_figure(row, figure, [&](auto value) {
      if (is_known_figure(value)) json[figure.key] = number(value);
    });
  if (row.outcome != Outcome::simulated) return json;
  trace::add_evidence(json, row.evidence);
  for (const DerivedFigure& figure : derived_figures)
    if (const double value = figure.value(row); value > 0) json[figure.key] = value;
  if (run.objective.kind == Objective::Kind::time_to_train)
    json["time_to_train_s"] = number(cost_of(run, row));
  if (run.objective.kind == Objective::Kind::tokens_a_day) {
    json["effective_training_time_ratio"] = 1 - row.work.lost_part;
    json["tokens_per_day"] = work_per_day(row.work, row.time_s);
  }
  if (run.objective.kind == Objective::Kind::price) json["price"] = number(cost_of(run, row));
  return json;
}

void to_json(Json& json, const SearchAxis& axis) {
  json = {{"key", axis.key}, {"name", axis.name}, {"values", axis.values}};
}

void to_json(Json& json, const Excluded& excluded) {
  json = {{"rule", excluded.rule}, {"combinations", excluded.combinations}};
}

std::string figures_help() {
  std::string text = "figures of a candidate, in results, CSV and JSON:\n";
  const auto add_lines = [&](const auto& figure) {
    constexpr std::size_t width = 77;  // of a help text, in lines of 100 characters
    std::string_view key = figure.key;
    for (const std::string& line : folded(figure.help, width, width)) {
      text += fmt::format("  {:<20} {}\n", key, line);
      key = "";
    }
  };
  std::ranges::for_each(candidate_figures, add_lines);
  text += "figures of a simulated candidate, in CSV and JSON:\n";
  std::ranges::for_each(derived_figures, add_lines);
  return text;
}

void write_search_csv(std::ostream& stream, const SearchRun& run) {
  std::string line = "candidate,group,outcome";
  for (const SearchAxis& axis : run.axes) line += fmt::format(",{}", csv_field(axis.name));
  for (const CandidateFigure& figure : candidate_figures) line += fmt::format(",{}", figure.key);
  const std::vector<std::string> objective = objective_headings(run.objective);
  for (const DerivedFigure& figure : derived_figures) line += fmt::format(",{}", figure.key);
  for (const std::string& heading : objective) line += fmt::format(",{}", heading);
  stream << line
         << fmt::format(",{},expected_error_low,expected_error_high,note\n", trace::assumed_field);
  for (const CandidateRow& row : run.rows) {
    line = fmt::format("{},{},{}", row.candidate,
                       csv_field(row.group < run.groups.size() ? run.groups[row.group] : ""),
                       outcome_names.at(static_cast<std::size_t>(row.outcome)));
    const std::vector<std::uint32_t> digits = choices(run.axes, row.candidate);
    for (std::size_t axis = 0; axis < digits.size(); ++axis)
      line += fmt::format(",{}", csv_field(run.axes[axis].values[digits[axis]]));
    for (const CandidateFigure& figure : candidate_figures)
      line += fmt::format(",{}", csv_number(row, figure));
    for (const DerivedFigure& figure : derived_figures) {
      const double value = row.outcome == Outcome::simulated ? figure.value(row) : 0;
      line += value > 0 ? fmt::format(",{}", value) : ",";
    }
    if (row.outcome == Outcome::simulated && !objective.empty())
      line += objective_values(run, row);
    else
      line.append(objective.size(), ',');
    const trace::ExpectedError& error = row.evidence.expected_error;
    stream << line << ',' << csv_field(trace::joined_keys(row.evidence)) << ','
           << (error.rows == 0 ? "," : fmt::format("{},{}", error.low, error.high)) << ','
           << csv_field(row.note) << '\n';
  }
}

void write_search_json(std::ostream& stream, const SearchRun& run, const Json& more) {
  Json head{{"title", run.title},
            {"sweep", run.sweep},
            {"objective", objective_to_json(run.objective)},
            {"groups", run.groups},
            {"axes", run.axes},
            {"combinations", number(run.combinations)},
            {"excluded", run.excluded},
            {"shard", shard_json(run)},
            {"exhaustive", run.exhaustive},
            {"finished", run.finished},
            {"gap", number(run.gap)},
            {"notes", run.notes}};
  head.update(findings_json(run, find(run)));
  if (!more.empty()) head.update(more);
  std::string text = json_document(head);
  text.resize(text.size() - 3);  // without the closing brace, which follows the candidates
  stream << text << ",\n  \"candidates\": [";
  const char* separator = "\n    ";
  for (const CandidateRow& row : run.rows) {
    stream << separator << json_line(candidate_json(run, row));
    separator = ",\n    ";
  }
  stream << (run.rows.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

}  // namespace pipewright::analysis
