#include "analysis/report/search/decision.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/goodput/goodput_report.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/search_export.hpp"
#include "analysis/report/search/search_report.hpp"
#include "analysis/report/search/search_tables.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr const char* costs_option = "--costs tokens=300B price=2.5";
constexpr const char* launch_option = "--launch";

void add_best(AnswerReport& report, const SearchRun& run, const Decision& decision) {
  const CandidateRow& row = run.rows[decision.row];
  const std::string name = candidate_name(run, row);
  report.add_long_item(fmt::format(
      "{}{}", name.empty() ? "the only candidate" : name,
      row.work.gpus > 0 ? fmt::format(", on {}", counted(row.work.gpus, "GPU")) : std::string()));
  std::vector<std::string> figures;
  if (const double rate = throughput(row.work, row.time_s); rate > 0)
    figures.push_back(format_rate(rate, row.work.tokens > 0 ? "tokens" : "samples"));
  if (const double share = mfu(row.work, row.time_s); share > 0)
    figures.push_back(format_percent(share) + " MFU");
  figures.push_back("iteration " + format_seconds(row.time_s));
  if (row.peak_bytes > 0) figures.push_back("memory " + memory_text(row));
  report.add_long_item(fmt::format("{}", fmt::join(figures, ", ")));
  if (std::string error = expected_error_text(row.evidence.expected_error); !error.empty())
    report.add_long_item(std::move(error));
  report.add_long_item(proof_text(run, find(run)));
}

void add_settings(AnswerReport& report, const Decision& decision) {
  if (!decision.given_settings.empty())
    report.add_long_item(
        fmt::format("given, not searched: {}", fmt::join(decision.given_settings, ", ")));
  if (!decision.default_settings.empty())
    report.add_long_item(
        fmt::format("by default, not searched: {}", fmt::join(decision.default_settings, ", ")));
}

// Returns the values in which a candidate differs from the best.
std::string difference_text(const SearchRun& run, const Decision& decision, std::size_t row) {
  return axes_text(run, compare_rows(run, decision.row, row));
}

void add_ties(AnswerReport& report, const SearchRun& run, const Decision& decision,
              const Robustness& robust) {
  report.add_heading("ties");
  if (std::string reason = no_comparison_text(robust); !reason.empty())
    return report.add_sentence(reason);
  const Verdict verdict = verdict_of(robust, standings(run, robust));
  const std::string rivals = counted(robust.rows.size() - 1, "other candidate");
  const std::string draws = counted(robust.settings.draws, "draw");
  const auto add_rows = [&](const std::vector<std::size_t>& numbers) {
    for (const std::size_t number : numbers) {
      const Comparison lost = compare_rows(run, decision.row, robust.rows[number].row);
      report.add_long_item(
          fmt::format("{}: {}", axes_text(run, lost), loss_words(run, lost).distance));
    }
  };
  if (!verdict.better.empty()) {
    report.add_sentence(fmt::format("{} of {} are better than the best in 95 % of {}",
                                    verdict.better.size(), rivals, draws));
    add_rows(verdict.better);
  }
  const char* const scope = robust.error ? "conditions and errors" : "conditions";
  if (verdict.ties.empty())
    return report.add_sentence(fmt::format("none of {} ties under {} of {}", rivals, draws, scope));
  report.add_sentence(fmt::format("{} of {} cannot be told from the best under {} of {}",
                                  verdict.ties.size(), rivals, draws, scope));
  add_rows(verdict.ties);
}

void add_changes(AnswerReport& report, const SearchRun& run, const Decision& decision,
                 const Robustness& robust) {
  report.add_heading("what would change it");
  for (const Perturbation& change : robust.perturbations)
    report.add_long_item(perturbation_text(change, change.winner_name.empty()
                                                       ? difference_text(run, decision, change.row)
                                                       : printable(change.winner_name)));
  if (!robust.without_effect.empty())
    report.add_long_item(fmt::format("not {}", fmt::join(robust.without_effect, ", not ")));
  if (robust.turns_are_cut)
    report.add_sentence(turns_cut_text);
  else if (robust.perturbations.empty() && robust.without_effect.empty())
    report.add_sentence("not examined: --under turns=true looks for such changes");
}

void add_cost(AnswerReport& report, const Decision& decision) {
  if (!decision.cost) {
    report.add_heading("days, price and energy");
    return report.add_sentence(fmt::format("not known: {} gives them", costs_option));
  }
  const ClusterCost& cost = *decision.cost;
  report.add_heading(
      fmt::format("{} tokens without failures", format_scaled(cost.objective.tokens)));
  report.add_table(cluster_costs_table({cost}));
  const trace::ExpectedError& error = cost.row->evidence.expected_error;
  if (error.rows > 0)
    report.add_sentence(fmt::format("{:.2f} .. {:.2f} days with the expected error",
                                    cost.days() * (1 + error.low), cost.days() * (1 + error.high)));
  if (!cost.keeps_deadline()) report.add_sentence("the best misses the deadline");
  if (!cost.megawatt_hours())
    report.add_sentence("energy: not known, since the file of the GPU has no `power`");
}

void add_weeks(AnswerReport& report, const SearchRun& run, const Decision& decision) {
  if (!decision.weeks) {
    report.add_heading("with failures");
    return report.add_sentence("not known: " + printable(decision.no_weeks_reason));
  }
  const GoodputReport& weeks = *decision.weeks;
  report.add_heading(weeks.target_tokens ? fmt::format("{} tokens with failures",
                                                       format_scaled(*weeks.target_tokens))
                                         : std::string("weeks with failures"));
  if (weeks.mean_between_s)
    report.add_long_item("an interruption every " + format_long_time(*weeks.mean_between_s));
  report.add_long_item(fmt::format("checkpoints of {} every {} ({})",
                                   format_bytes(static_cast<std::uint64_t>(weeks.checkpoint_bytes)),
                                   format_long_time(weeks.interval_s), weeks.mode));
  report.add_long_item(weeks.spares ? counted(*weeks.spares, "spare node")
                                    : std::string("a spare node for each failure: goodput.spares "
                                                  "limits their number"));
  if (decision.failures_are_assumed)
    report.add_long_item("failures of rsc-1, a published cluster: goodput.failures sets others");
  else
    report.add_long_item(fmt::format("failures: {}", fmt::join(weeks.failures, ", ")));
  for (const std::string& note : weeks.notes)
    if (std::ranges::find(run.notes, note) == run.notes.end())
      report.add_long_item("note: " + printable(note));
  report.add_table(goodput_bands(weeks));
  report.add_sentence("where the time goes");
  report.add_table(goodput_parts_table(weeks));
}

void add_launch(AnswerReport& report, const Decision& decision, bool with_launch) {
  report.add_heading("launch");
  if (!decision.launch)
    report.add_sentence(
        fmt::format("no framework is known for this stack: {} names one", launch_option));
  else if (with_launch)
    report.add_script(decision.launch->title, decision.launch->text);
  else
    report.add_sentence(fmt::format("{} {} prints the launch for {}", launch_option,
                                    decision.launch->word, decision.launch->title));
}

AnswerReport answer_of(const SearchRun& run, const Decision& decision, const Robustness& robust,
                       bool on_page) {
  AnswerReport report;
  report.add_heading("decision");
  if (!on_page) add_best(report, run, decision);
  add_settings(report, decision);
  add_ties(report, run, decision, robust);
  add_changes(report, run, decision, robust);
  add_cost(report, decision);
  add_weeks(report, run, decision);
  add_launch(report, decision, on_page);
  return report;
}

}  // namespace

AnswerReport decision_answer(const SearchRun& run, const Decision& decision,
                             const Robustness& robust) {
  return answer_of(run, decision, robust, false);
}

AnswerReport decision_on_page(const SearchRun& run, const Decision& decision,
                              const Robustness& robust) {
  return answer_of(run, decision, robust, true);
}

Json decision_json(const SearchRun& run, const Decision& decision, const Robustness& robust) {
  Json json{{"candidate", run.rows[decision.row].candidate}, {"ties", Json::array()}};
  for (const std::size_t number : verdict_of(robust, standings(run, robust)).ties)
    json["ties"].push_back(run.rows[robust.rows[number].row].candidate);
  json["cost"] = decision.cost ? cluster_cost_json(*decision.cost) : Json();
  json["goodput"] = decision.weeks ? Json::parse(goodput_json(*decision.weeks)) : Json();
  if (!decision.weeks) json["no_goodput_reason"] = decision.no_weeks_reason;
  json["launch"] = nullptr;
  if (decision.launch)
    json["launch"] = {{"framework", decision.launch->word}, {"text", decision.launch->text}};
  json["not_searched"] = {{"given", decision.given_settings},
                          {"default", decision.default_settings}};
  json["missing"] = Json::array();
  if (!decision.cost)
    json["missing"].push_back({{"figure", "days, price and energy"}, {"option", costs_option}});
  if (!decision.launch)
    json["missing"].push_back({{"figure", "launch"}, {"option", launch_option}});
  return json;
}

}  // namespace pipewright::analysis
