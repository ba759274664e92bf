#include "analysis/commlogs/reports/survey_report.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/report_table.hpp"
#include "analysis/report/statistics.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

std::string survey_percent(double ratio) {
  return fmt::format("{:+.1f}", std::abs(ratio) < 5e-4 ? 0.0 : 100 * ratio);
}

// Failures of one kind that lead to the same time, counted, with the first of them as example.
struct FailureOutcome {
  const Failure* first = nullptr;
  std::size_t count = 0;
};

std::vector<FailureOutcome> failure_outcomes(const FailureSurvey& survey) {
  std::vector<FailureOutcome> result;
  std::map<std::tuple<std::string, bool, long long>, std::size_t> outcome_index;
  for (const Failure& failure : survey.failures) {
    const bool is_cut_off = !failure.cut_off.empty();
    const long long cost =
        is_cut_off ? 0 : std::llround(1e4 * (failure.seconds / survey.whole - 1));
    const auto [entry, is_new] =
        outcome_index.try_emplace({failure.kind, is_cut_off, cost}, result.size());
    if (is_new) result.push_back({.first = &failure});
    ++result[entry->second].count;
  }
  return result;
}

ReportColumns<Failure> failure_columns() {
  return {{"kind", &Failure::kind},
          {"name", &Failure::name},
          {"seconds",
           [](const Failure& failure) {
             return failure.cut_off.empty() ? Json(failure.seconds) : Json();
           }},
          {"cut_off", [](const Failure& failure) {
             return failure.cut_off.empty() ? Json() : Json(failure.cut_off);
           }}};
}

std::string failed_part_heading(double rate_left) {
  return rate_left > 0 ? fmt::format("part at {:g} of its rate", rate_left) : "failed part";
}

ReportColumns<HashedTimes> hashed_time_columns(double spread) {
  using Times = HashedTimes;
  ReportColumns<Times> columns{{"flows", {"flows per pair"}, Quantity::count(), &Times::flows}};
  for (const auto& [key, title, part] :
       {std::tuple{"median_s", "median", 0.5}, std::tuple{"p90_s", "p90", 0.9},
        std::tuple{"worst_s", "worst", 1.0}}) {
    const auto time = [part = part](const Times& times) { return quantile(times.seconds, part); };
    columns.push_back({key, {title}, Quantity::each_as(format_seconds), time});
    columns.push_back(table_only<Times>(
        {"",
         {"over even, %"},
         Quantity::each_as(survey_percent),
         [time, spread](const Times& times) { return time(times) / spread - 1; }}));
  }
  return columns;
}

}  // namespace

std::string survey_text(const FailureSurvey& survey) {
  std::string text = fmt::format("{}: {}, {} without failures\n\n", printable(survey.cluster),
                                 survey.what, format_seconds(survey.whole));
  std::vector<std::string> names;
  std::vector<std::string> kinds;
  std::vector<std::string> counts;
  std::vector<std::string> times;
  std::vector<std::string> changes;
  std::string cut_off;
  for (const auto& [first, count] : failure_outcomes(survey)) {
    const bool is_cut_off = !first->cut_off.empty();
    names.push_back(printable(first->name));
    kinds.push_back(printable(first->kind));
    counts.push_back(fmt::format("{}", count));
    times.push_back(is_cut_off ? "cut off" : format_seconds(first->seconds));
    changes.push_back(is_cut_off ? "-" : survey_percent(first->seconds / survey.whole - 1));
    if (is_cut_off && cut_off.empty()) cut_off = first->cut_off;
  }
  TextTable table;
  table.add_names(failed_part_heading(survey.left), std::move(names));
  table.add_names("kind", std::move(kinds));
  table.add_numbers({"count"}, std::move(counts));
  table.add_numbers({"time"}, std::move(times));
  table.add_numbers({"change, %"}, std::move(changes));
  text += table.text();
  for (const FailureSurvey::Kind& kind : survey.kinds)
    if (kind.tried < kind.all)
      text += fmt::format("\n{} of {} of kind '{}' were tried, evenly sampled; --most tries more",
                          kind.tried, kind.all, printable(kind.kind));
  if (!cut_off.empty())
    text += fmt::format("\nfirst failure that cuts ranks off: {}", printable(cut_off));
  return text.ends_with('\n') ? text : text + "\n";
}

std::string survey_json(const FailureSurvey& survey) {
  Json kinds = Json::array();
  for (const FailureSurvey::Kind& kind : survey.kinds)
    kinds.push_back({{"kind", kind.kind}, {"all", kind.all}, {"tried", kind.tried}});
  return json_document({{"cluster", survey.cluster},
                        {"what", survey.what},
                        {"rate_left", survey.left},
                        {"whole_s", survey.whole},
                        {"kinds", std::move(kinds)},
                        {"failures", json_rows(failure_columns(), survey.failures)}});
}

std::string survey_text(const HashSurvey& survey) {
  const auto gain = [&](const HashedTimes& times) {
    return 1 - survey.spread / quantile(times.seconds, 0.5);
  };
  std::string text = fmt::format(
      "{}: {}, {} with adaptive routing\n\n{}\n{} seeds of the switches' hashes. Adaptive "
      "routing would take {:.1f} % off the median\n",
      printable(survey.cluster), survey.what, format_seconds(survey.spread),
      table_text(hashed_time_columns(survey.spread), survey.by_flows), survey.seeds,
      100 * gain(survey.by_flows.front()));
  if (survey.by_flows.size() > 1)
    text += fmt::format("of {} flow per pair, and {:.1f} % off that of {}.\n",
                        survey.by_flows.front().flows, 100 * gain(survey.by_flows.back()),
                        survey.by_flows.back().flows);
  return text;
}

std::string survey_json(const HashSurvey& survey) {
  return json_document(
      {{"cluster", survey.cluster},
       {"what", survey.what},
       {"seeds", survey.seeds},
       {"spread_s", survey.spread},
       {"by_flows", json_rows(hashed_time_columns(survey.spread), survey.by_flows)}});
}

}  // namespace pipewright::analysis
