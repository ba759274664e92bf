#include "analysis/report/search/why_not.hpp"

#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/evidence.hpp"
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

void add_best_match(AnswerReport& report, const SearchRun& two) {
  const CandidateRow& best = two.rows[0];
  const CandidateRow& match = two.rows[1];
  if (best.candidate == match.candidate) return report.add_item("the best meets the condition");
  if (cost_of(two, match) < cost_of(two, best))
    return report.add_item(
        fmt::format("best that meets it: {}; it is better than the best that the search had found",
                    candidate_name(two, match)));
  const LossWords loss = loss_words(two, compare_rows(two, 0, 1));
  report.add_item("best that meets it: " + loss.axes);
  report.add_item(loss.distance, loss.details);
  std::string text;
  if (two.objective.kind != Objective::Kind::memory)  // memory comes last anyway
    text = fmt::format("{}, ", objective_text(two, match));
  text += fmt::format("iteration {}", format_seconds(match.time_s));
  if (match.peak_bytes > 0) text += fmt::format(", memory {}", memory_text(match));
  report.add_item(text);
  if (std::string error = expected_error_text(match.evidence.expected_error); !error.empty())
    report.add_long_item(std::move(error));
}

// Adds each line of a text as an item.
void add_lines(AnswerReport& report, const std::string& text) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos) report.add_item(line.substr(begin));
  }
}

}  // namespace

AnswerReport why_not_answer(const SearchRun& run, const WhyNot& answer) {
  AnswerReport report;
  report.add_heading(fmt::format("why not {}?", printable(answer.condition)));
  if (!answer.refusal.empty()) {
    add_lines(report, answer.refusal);
    return report;
  }
  const Findings findings = find(answer.matches);
  report.add_item(count_text(answer.matches));
  if (!findings.best) {
    SearchRun matches = answer.matches;
    matches.excluded.clear();  // rules also exclude the candidates that do not meet the condition
    add_lines(report, no_best_text(matches, findings));
    report.add_table(counts_table(matches, findings));
    return report;
  }
  if (const std::optional<SearchRun> two = best_and_match(run, answer))
    add_best_match(report, *two);
  else
    report.add_item(
        fmt::format("best that meets it: {}",
                    candidate_name(answer.matches, answer.matches.rows[*findings.best])));
  if (!answer.matches.finished) report.add_item(proof_text(answer.matches, findings));
  return report;
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
