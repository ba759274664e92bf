#include "analysis/search/page_head.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/page/html_file.hpp"
#include "analysis/palette.hpp"
#include "analysis/search/columns.hpp"
#include "analysis/search/results_layout.hpp"
#include "analysis/search/runner_up.hpp"
#include "analysis/search/search_report.hpp"

namespace pipewright::analysis {
namespace {

using Json = nlohmann::ordered_json;

// In the order of part_words.
constexpr std::array part_colours{style(trace::PassKind::forward).colour,
                                  time_colours::in_passes,
                                  time_colours::transfers,
                                  time_colours::gradients,
                                  time_colours::weights,
                                  time_colours::optimizer,
                                  time_colours::warm_up};
static_assert(part_colours.size() == part_words.size());

Json parts_json() {
  Json parts = Json::array();
  for (std::size_t i = 0; i < part_words.size(); ++i)
    parts.push_back({{"words", part_words[i].words}, {"colour", hex(part_colours[i])}});
  return parts;
}

Json objective_json(const SearchRun& run) {
  const bool tokens =
      std::ranges::any_of(run.rows, [](const CandidateRow& row) { return row.work.tokens > 0; });
  return {{"kind", results::objective_names.at(static_cast<std::size_t>(run.objective.kind))},
          {"name", name_of(run.objective)},
          {"currency", run.objective.currency},
          {"unit", tokens ? "tokens" : "samples"}};
}

Json reasons_json(const SearchRun& run, const std::vector<Reason>& reasons) {
  constexpr std::size_t most = 5;
  Json all = Json::array();
  for (const Reason& reason : reasons) {
    if (all.size() == most) break;
    all.push_back(
        {{"rows", reason.rows}, {"row", reason.example}, {"note", run.rows[reason.example].note}});
  }
  return all;
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string page_head(const SearchRun& run, const Findings& findings,
                      const std::vector<std::string>& notes) {
  Json json{{"title", run.title},
            {"sweep", run.sweep},
            {"rows", run.rows.size()},
            {"combinations", std::isfinite(run.combinations) ? Json(run.combinations) : Json()},
            {"objective", objective_json(run)},
            {"groups", run.groups},
            {"proof", proof_text(run, findings)},
            {"parts", parts_json()},
            {"outcomes", outcome_words},
            {"best_of_group", Json::array()},
            {"fronts", findings.fronts},
            {"failed_hopes", findings.failed_hopes},
            {"best", or_null(findings.best)},
            {"nearest", or_null(findings.nearest)},
            {"notes", notes}};
  for (const auto& best : findings.best_of_group) json["best_of_group"].push_back(or_null(best));
  json["axes"] = Json::array();
  for (const SearchAxis& axis : run.axes)
    json["axes"].push_back({{"key", axis.key}, {"name", axis.name}, {"values", axis.values}});
  json["excluded"] = Json::array();
  for (const Excluded& one : run.excluded)
    json["excluded"].push_back({{"rule", one.rule}, {"combinations", one.combinations}});
  json["reasons"] = {{"illegal", reasons_json(run, findings.illegal)},
                     {"does not fit", reasons_json(run, findings.does_not_fit)},
                     {"failed", reasons_json(run, findings.failed)}};
  // Bytes of names that are no UTF-8 become U+FFFD.
  return script_safe(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::set<std::size_t> rows_with_scenarios(const Findings& findings, std::size_t most) {
  std::set<std::size_t> rows;
  for (const auto& front : findings.fronts) rows.insert(front.begin(), front.end());
  const auto best = std::span(findings.ranked).first(std::min(most, findings.ranked.size()));
  rows.insert(best.begin(), best.end());
  return rows;
}

}  // namespace pipewright::analysis
