#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/robustness.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/evidence_json.hpp"

namespace pipewright::analysis {
namespace {

// A row of the table of compared candidates.
struct StandingLine {
  const CandidateRow* row = nullptr;
  RobustStanding standing;
  double behind = 0;  // relative loss under the planned conditions
  bool is_best = false;
};

std::string percent_number(double ratio) { return fmt::format("{:.1f}", 100 * ratio); }
std::string whole_percent_number(double ratio) { return fmt::format("{:.0f}", 100 * ratio); }

std::string percent_interval(const Range& range) {
  return fmt::format("{:+.1f}..{:+.1f}", 100 * range.least, 100 * range.most);
}

// Returns columns for the results of the draws: under varied conditions, and if `with_error` also
// with the error of the model.
ReportColumns<StandingLine> standing_columns(bool with_error) {
  ReportColumns<StandingLine> columns{
      {"behind", {"planned", "behind", "%"}, Quantity::count(), [](const StandingLine& line) {
         return line.is_best ? "best" : percent_number(line.behind);
       }}};
  const auto add = [&](const char* heading, Standing RobustStanding::*part) {
    const auto standing_of = [part](const StandingLine& line) -> const Standing& {
      return line.standing.*part;
    };
    columns.push_back({"wins",
                       {heading, "wins", "%"},
                       Quantity::count(),
                       [standing_of](const StandingLine& line) {
                         return whole_percent_number(standing_of(line).wins);
                       }});
    columns.push_back({"interval",
                       {heading, "behind the best", "%"},
                       Quantity::count(),
                       [standing_of](const StandingLine& line) {
                         return line.is_best ? std::string("-")
                                             : percent_interval(standing_of(line).behind);
                       }});
    columns.push_back({"worst",
                       {heading, "worst", "%"},
                       Quantity::count(),
                       [standing_of](const StandingLine& line) {
                         return percent_number(standing_of(line).worst);
                       }});
  };
  add("conditions", &RobustStanding::conditions);
  if (with_error) add("+ error", &RobustStanding::with_error);
  columns.push_back(
      {"seconds", {"iteration", "in 90 %"}, Quantity::seconds(3), [](const StandingLine& line) {
         return Json(line.standing.seconds);
       }});
  return columns;
}

std::string settings_text(const Robustness& robust) {
  const DrawSettings& settings = robust.settings;
  std::vector<std::string> parts;
  if (settings.jitter > 0)
    parts.push_back(fmt::format("jitter of {}", format_percent(settings.jitter)));
  if (settings.slow > 0 && settings.slow_chance > 0)
    parts.push_back(fmt::format("one GPU up to {} slower in {} of the draws",
                                format_percent(settings.slow),
                                format_percent(settings.slow_chance)));
  if (settings.network > 0)
    parts.push_back(
        fmt::format("network at {:.0f} to {:.0f} %{}", 100 * (1 - settings.network),
                    100 * (1 + settings.network),
                    robust.link_classes.empty()
                        ? " (latencies)"
                        : fmt::format(" (latencies, {})", fmt::join(robust.link_classes, ", "))));
  return parts.empty() ? "no variation" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string error_text(const trace::ExpectedError& error) {
  if (error.rows == 0)
    return fmt::format("+ error: comparisons have a given standard deviation of {}",
                       format_percent(error.scatter));
  return fmt::format("+ {}; comparisons of runs of one model have a standard deviation of {}",
                     expected_error_text(error), format_percent(error.scatter));
}

// Joins the numbers of candidates, which are indices plus one, to a text such as "2, 3 and 5".
std::string numbers_text(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += fmt::format("{}{}",
                        i == 0                    ? ""
                        : i + 1 == numbers.size() ? " and "
                                                  : ", ",
                        numbers[i] + 1);
  return text;
}

// Adds sentences that name the candidates that are better than the planned best, or as good.
void add_verdict(AnswerReport& report, const Robustness& robust,
                 const std::vector<RobustStanding>& standings) {
  if (std::string reason = no_comparison_text(robust); !reason.empty())
    return report.add_sentence(reason);
  const auto [ties, better] = verdict_of(robust, standings);
  if (!better.empty())
    report.add_sentence(
        fmt::format("{} better than the best in 95 % of the draws: 90 % of the paired "
                    "differences are below 0",
                    numbers_text(better) + (better.size() == 1 ? " is" : " are")));
  if (!ties.empty())
    report.add_sentence(fmt::format("tie with 1: {} (0 lies within 90 % of the paired differences)",
                                    numbers_text(ties)));
  if (better.empty() && ties.empty())
    report.add_sentence("no tie: 90 % of the paired differences from 1 are above 0");
}

std::string winner_of(const SearchRun& run, const Robustness& robust,
                      const Perturbation& perturbation) {
  if (!perturbation.winner_name.empty()) return perturbation.winner_name;
  const auto compared = std::ranges::find(robust.rows, perturbation.row, &RobustRow::row);
  return compared == robust.rows.end() ? candidate_name(run, run.rows[perturbation.row])
                                       : fmt::format("{}", compared - robust.rows.begin() + 1);
}

Json standing_json(const Standing& standing) {
  return {{"wins", standing.wins},
          {"behind_p5", standing.behind.least},
          {"behind_p95", standing.behind.most},
          {"worst", standing.worst},
          {"is_tie", standing.is_tie()}};
}

}  // namespace

std::string no_comparison_text(const Robustness& robust) {
  if (robust.top == 1) return "no comparison: only one candidate was requested (top=1)";
  if (robust.rows.size() < 2) return "no comparison: no other candidate differs in time or memory";
  return robust.settings.draws == 0 ? "no comparison: the time was spent before the first draw"
                                    : "";
}

std::string perturbation_text(const Perturbation& perturbation, const std::string& winner) {
  const std::string value =
      perturbation.is_memory   ? format_bytes(static_cast<std::uint64_t>(perturbation.value))
      : perturbation.value > 0 ? fmt::format("{:.0f} % ({:.3g} GB/s)", 100 * perturbation.factor,
                                             perturbation.value / 1e9)
                               : fmt::format("{:.0f} %", 100 * perturbation.factor);
  const std::string lead =
      perturbation.is_memory && perturbation.is_decrease
          ? fmt::format("{} behind the best", format_percent(perturbation.lead))
          : fmt::format("by {}", format_percent(perturbation.lead));
  return fmt::format(
      "{} {} {}: {} wins, {}{}", perturbation.parameter,
      perturbation.is_decrease ? "below" : "above", value, winner, lead,
      perturbation.is_memory ? "" : fmt::format(" at {:.0f} %", 100 * perturbation.far_factor));
}

AnswerReport robustness_answer(const SearchRun& run, const Robustness& robust) {
  AnswerReport report;
  if (robust.rows.empty()) return report;
  const std::vector<RobustStanding> standing_list = standings(run, robust);
  report.add_heading(
      "how sure is the winner?",
      fmt::format("{} under the same {} (seed {})", counted(robust.rows.size(), "candidate"),
                  counted(robust.settings.draws, "draw"), robust.settings.seed));
  report.add_long_item(settings_text(robust));
  if (robust.error) report.add_long_item(error_text(*robust.error));
  std::vector<StandingLine> lines;
  std::vector<std::string> numbers;
  const double best = cost_of(run, run.rows[robust.rows.front().row]);
  for (std::size_t i = 0; i < standing_list.size(); ++i) {
    const CandidateRow& row = run.rows[robust.rows[i].row];
    lines.push_back(
        {&row, standing_list[i], relative_loss(run.objective, cost_of(run, row), best), i == 0});
    numbers.push_back(fmt::format("{}", i + 1));
    report.add_numbered_item(candidate_name(run, row));
  }
  TextTable table;
  table.add_numbers({""}, std::move(numbers));
  add_columns(table, standing_columns(robust.error.has_value()), lines);
  if (robust.settings.draws > 0) report.add_table(std::move(table));
  add_verdict(report, robust, standing_list);
  if (!robust.perturbations.empty()) report.add_heading("changes that make another candidate win");
  for (const Perturbation& perturbation : robust.perturbations)
    report.add_long_item(perturbation_text(perturbation, winner_of(run, robust, perturbation)));
  if (!robust.without_effect.empty())
    report.add_long_item(
        fmt::format("no effect on the winner: {}", fmt::join(robust.without_effect, ", ")));
  if (robust.turns_are_cut) report.add_sentence(turns_cut_text);
  for (const std::string& note : robust.notes)
    report.add_sentence(fmt::format("note: {}", printable(note)));
  return report;
}

Json robustness_json(const SearchRun& run, const Robustness& robust) {
  const DrawSettings& settings = robust.settings;
  Json json{{"draws", settings.draws},
            {"seed", settings.seed},
            {"jitter", settings.jitter},
            {"network", settings.network},
            {"slow", settings.slow},
            {"slow_chance", settings.slow_chance},
            {"link_classes", robust.link_classes}};
  json["error"] = nullptr;
  if (robust.error) json["error"] = trace::expected_error_json(*robust.error);
  json["candidates"] = Json::array();
  const std::vector<RobustStanding> standing_list = standings(run, robust);
  for (std::size_t i = 0; i < standing_list.size(); ++i)
    json["candidates"].push_back({{"candidate", run.rows[robust.rows[i].row].candidate},
                                  {"row", robust.rows[i].row},
                                  {"conditions", standing_json(standing_list[i].conditions)},
                                  {"with_error", standing_json(standing_list[i].with_error)},
                                  {"time_s_p5", standing_list[i].seconds.least},
                                  {"time_s_p95", standing_list[i].seconds.most},
                                  {"time_s", robust.rows[i].seconds}});
  json["turns"] = Json::array();
  for (const Perturbation& perturbation : robust.perturbations) {
    Json change{{"what", perturbation.parameter}, {"below", perturbation.is_decrease}};
    change[perturbation.is_memory ? "bytes" : "factor"] =
        perturbation.is_memory ? perturbation.value : perturbation.factor;
    if (!perturbation.is_memory && perturbation.value > 0)
      change["bytes_per_s"] = perturbation.value;
    change["lead"] = perturbation.lead;
    change["winner"] = perturbation.winner_name.empty()
                           ? candidate_name(run, run.rows[perturbation.row])
                           : perturbation.winner_name;
    json["turns"].push_back(change);
  }
  json["steady"] = robust.without_effect;
  json["notes"] = robust.notes;
  return json;
}

}  // namespace pipewright::analysis
