#include "analysis/report/search/why_not.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/names.hpp"
#include "analysis/report/search/search_export.hpp"
#include "analysis/report/search/search_report.hpp"
#include "analysis/report/search/search_tables.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

// Returns the number of candidates, "12 candidates". How many of them were simulated is not shown,
// since it depends on the number of workers.
std::string count_text(const SearchRun& run) {
  const auto count = static_cast<double>(run.rows.size());
  return fmt::format("{} candidate{}", grouped(count), count == 1 ? "" : "s");
}

// Returns a search with two rows, the best of the run and the best match, if both exist.
std::optional<SearchRun> best_and_match(const SearchRun& run, const WhyNot& answer) {
  const std::optional<std::size_t> best = find(run).best;
  const std::optional<std::size_t> match = find(answer.matches).best;
  if (!best || !match) return std::nullopt;
  SearchRun two;
  two.axes = run.axes;
  two.groups = run.groups;
  two.objective = run.objective;
  two.rows = {run.rows[*best], answer.matches.rows[*match]};
  return two;
}

std::string best_match_text(const SearchRun& two) {
  const CandidateRow& best = two.rows[0];
  const CandidateRow& match = two.rows[1];
  if (best.candidate == match.candidate) return "  the best meets the condition\n";
  if (cost_of(two, match) < cost_of(two, best))
    return fmt::format(
        "  best that meets it: {}; it is better than the best that the search had found\n",
        candidate_name(two, match));
  std::string text = loss_text("  best that meets it", two, compare_rows(two, 0, 1));
  text += "  ";
  if (two.objective.kind != Objective::Kind::memory)  // memory comes last anyway
    text += fmt::format("{}, ", objective_text(two, match));
  text += fmt::format("iteration {}", format_seconds(match.time_s));
  if (match.peak_bytes > 0) text += fmt::format(", memory {}", memory_text(match));
  return text + "\n";
}

}  // namespace

std::string why_not_text(const SearchRun& run, const WhyNot& answer) {
  std::string text = fmt::format("why not {}?\n", printable(answer.condition));
  if (!answer.refusal.empty()) return text + fmt::format("  {}\n", answer.refusal);
  const Findings findings = find(answer.matches);
  text += fmt::format("  {}\n", count_text(answer.matches));
  if (!findings.best) {
    SearchRun matches = answer.matches;
    matches.excluded.clear();  // rules also exclude the candidates that do not meet the condition
    text += fmt::format("  {}{}", no_best_text(matches, findings), counts_text(matches, findings));
    return text;
  }
  const std::optional<SearchRun> two = best_and_match(run, answer);
  text += two ? best_match_text(*two)
              : fmt::format("  best that meets it: {}\n",
                            candidate_name(answer.matches, answer.matches.rows[*findings.best]));
  if (!answer.matches.finished) text += fmt::format("  {}\n", proof_text(answer.matches, findings));
  return text;
}

Json why_not_json(const SearchRun& run, const WhyNot& answer) {
  Json json{{"condition", answer.condition}};
  if (!answer.refusal.empty()) {
    json["none"] = answer.refusal;
    return json;
  }
  const Findings findings = find(answer.matches);
  for (std::size_t i = 0; i < outcome_names.size(); ++i)
    json["outcomes"][outcome_names[i]] = findings.outcomes[i];
  json["best"] =
      findings.best ? candidate_json(answer.matches, answer.matches.rows[*findings.best]) : Json();
  const std::optional<SearchRun> two = best_and_match(run, answer);
  json["loses"] = two && two->rows[0].candidate != two->rows[1].candidate
                      ? loss_json(*two, compare_rows(*two, 0, 1))
                      : Json();
  return json;
}

}  // namespace pipewright::analysis
