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

std::string percent(double ratio) {
  return fmt::format("{:+.1f}", std::abs(ratio) < 5e-4 ? 0.0 : 100 * ratio);
}

// Failures of one kind that cost the same, by the first of them.
struct Outcome {
  const Failure* first = nullptr;
  std::size_t count = 0;
};

std::vector<Outcome> outcomes(const FailureSurvey& survey) {
  std::vector<Outcome> found;
  std::map<std::tuple<std::string, bool, long long>, std::size_t> place_of;
  for (const Failure& one : survey.failures) {
    const bool cut = !one.cut_off.empty();
    const long long cost = cut ? 0 : std::llround(1e4 * (one.seconds / survey.whole - 1));
    const auto [place, is_new] = place_of.try_emplace({one.kind, cut, cost}, found.size());
    if (is_new) found.push_back({.first = &one});
    ++found[place->second].count;
  }
  return found;
}

ReportColumns<Failure> failure_columns() {
  return {{"kind", &Failure::kind},
          {"name", &Failure::name},
          {"seconds",
           [](const Failure& one) { return one.cut_off.empty() ? Json(one.seconds) : Json(); }},
          {"cut_off",
           [](const Failure& one) { return one.cut_off.empty() ? Json() : Json(one.cut_off); }}};
}

std::string loses_text(double left) {
  return left > 0 ? fmt::format("has {:g} of its rate", left) : "fails";
}

ReportColumns<HashedTimes> hash_columns(double spread) {
  using Times = HashedTimes;
  ReportColumns<Times> columns{{"flows", {"flows a pair"}, Quantity::count(), &Times::flows}};
  for (const auto& [key, title, part] :
       {std::tuple{"median_s", "median", 0.5}, std::tuple{"p90_s", "p90", 0.9},
        std::tuple{"worst_s", "worst", 1.0}}) {
    const auto time = [part = part](const Times& times) { return quantile(times.seconds, part); };
    columns.push_back({key, {title}, Quantity::each_as(format_seconds), time});
    columns.push_back(table_only<Times>(
        {"", {"to even, %"}, Quantity::each_as(percent), [time, spread](const Times& times) {
           return time(times) / spread - 1;
         }}));
  }
  return columns;
}

}  // namespace

std::string survey_text(const FailureSurvey& survey) {
  std::string text = fmt::format("{}: {}, {} with nothing failed\n\n", printable(survey.cluster),
                                 survey.what, format_seconds(survey.whole));
  std::vector<std::string> names;
  std::vector<std::string> kinds;
  std::vector<std::string> alike;
  std::vector<std::string> times;
  std::vector<std::string> changes;
  std::string cut_off;
  for (const auto& [first, count] : outcomes(survey)) {
    const bool cut = !first->cut_off.empty();
    names.push_back(printable(first->name));
    kinds.push_back(printable(first->kind));
    alike.push_back(fmt::format("{}", count));
    times.push_back(cut ? "cut off" : format_seconds(first->seconds));
    changes.push_back(cut ? "-" : percent(first->seconds / survey.whole - 1));
    if (cut && cut_off.empty()) cut_off = first->cut_off;
  }
  TextTable table;
  table.add_names(fmt::format("what {}", loses_text(survey.left)), std::move(names));
  table.add_names("kind", std::move(kinds));
  table.add_numbers({"alike"}, std::move(alike));
  table.add_numbers({"time"}, std::move(times));
  table.add_numbers({"change, %"}, std::move(changes));
  text += table.text();
  for (const FailureSurvey::Kind& kind : survey.kinds)
    if (kind.tried < kind.all)
      text +=
          fmt::format("\n{} of {} of kind '{}' were tried, at even distances; --most tries more",
                      kind.tried, kind.all, printable(kind.kind));
  if (!cut_off.empty()) text += fmt::format("\ncut off, the first: {}", printable(cut_off));
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
      "{}: {}, {} with flows spread evenly\n\n{}\n{} seeds of the switches' hashes. Adaptive "
      "routing, which spreads evenly, would take {:.1f} % off the median\n",
      printable(survey.cluster), survey.what, format_seconds(survey.spread),
      table_text(hash_columns(survey.spread), survey.by_flows), survey.seeds,
      100 * gain(survey.by_flows.front()));
  if (survey.by_flows.size() > 1)
    text += fmt::format("of {} flow a pair, and {:.1f} % off that of {}.\n",
                        survey.by_flows.front().flows, 100 * gain(survey.by_flows.back()),
                        survey.by_flows.back().flows);
  return text;
}

std::string survey_json(const HashSurvey& survey) {
  return json_document({{"cluster", survey.cluster},
                        {"what", survey.what},
                        {"seeds", survey.seeds},
                        {"spread_s", survey.spread},
                        {"by_flows", json_rows(hash_columns(survey.spread), survey.by_flows)}});
}

}  // namespace pipewright::analysis
