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

// "12 candidates". What became of each depends on how soon the best was known, and so on workers.
std::string count_text(const SearchRun& run) {
  const auto count = static_cast<double>(run.rows.size());
  return fmt::format("{} candidate{}", grouped(count), count == 1 ? "" : "s");
}

// The best of all and the best of those that were asked for, as rows of one search. Nothing if
// there is no such best.
std::optional<SearchRun> both(const SearchRun& run, const WhyNot& asked) {
  const std::optional<std::size_t> best = find(run).best;
  const std::optional<std::size_t> other = find(asked.among).best;
  if (!best || !other) return std::nullopt;
  SearchRun two;
  two.axes = run.axes;
  two.groups = run.groups;
  two.objective = run.objective;
  two.rows = {run.rows[*best], asked.among.rows[*other]};
  return two;
}

std::string best_of_those(const SearchRun& two) {
  const CandidateRow& best = two.rows[0];
  const CandidateRow& other = two.rows[1];
  if (best.candidate == other.candidate) return "  the best is one of those\n";
  if (cost_of(two, other) < cost_of(two, best))
    return fmt::format(
        "  the best of those is {}: better than the best that the search had found\n",
        named(two, other));
  std::string text = loss_text("  the best of those", two, compare_rows(two, 0, 1));
  text += "  ";
  if (two.objective.kind != Objective::Kind::memory)  // which comes last anyway
    text += fmt::format("{}, ", worth(two, other));
  text += fmt::format("iteration {}", format_seconds(other.time_s));
  if (other.peak_bytes > 0) text += fmt::format(", memory {}", memory_text(other));
  return text + "\n";
}

}  // namespace

std::string why_not_text(const SearchRun& run, const WhyNot& asked) {
  std::string text = fmt::format("why not {}?\n", printable(asked.condition));
  if (!asked.empty.empty()) return text + fmt::format("  {}\n", asked.empty);
  const Findings among = find(asked.among);
  text += fmt::format("  {}\n", count_text(asked.among));
  if (!among.best) {
    SearchRun shown = asked.among;
    shown.excluded.clear();  // what rules cut away is all that was not asked for
    text += fmt::format("  {}{}", none_text(shown, among), counts_text(shown, among));
    return text;
  }
  const std::optional<SearchRun> two = both(run, asked);
  text += two ? best_of_those(*two)
              : fmt::format("  the best of those is {}\n",
                            named(asked.among, asked.among.rows[*among.best]));
  if (!asked.among.finished) text += fmt::format("  {}\n", proof_text(asked.among, among));
  return text;
}

Json why_not_json(const SearchRun& run, const WhyNot& asked) {
  Json json{{"condition", asked.condition}};
  if (!asked.empty.empty()) {
    json["none"] = asked.empty;
    return json;
  }
  const Findings among = find(asked.among);
  for (std::size_t i = 0; i < outcome_names.size(); ++i)
    json["outcomes"][outcome_names[i]] = among.outcomes[i];
  json["best"] = among.best ? candidate_json(asked.among, asked.among.rows[*among.best]) : Json();
  const std::optional<SearchRun> two = both(run, asked);
  json["loses"] = two && two->rows[0].candidate != two->rows[1].candidate
                      ? loss_json(*two, compare_rows(*two, 0, 1))
                      : Json();
  return json;
}

}  // namespace pipewright::analysis
