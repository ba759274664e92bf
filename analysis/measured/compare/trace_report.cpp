#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "analysis/measured/compare/metric.hpp"
#include "analysis/measured/compare/trace_comparison.hpp"
#include "analysis/report/evidence.hpp"
#include "analysis/report/summary_columns.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/evidence_json.hpp"

namespace pipewright::analysis {
namespace {

constexpr const char* unknown_change = "-";

// Returns the metrics that are above 0 in at least one run, in the order in which the first run has
// them. The iteration time adds information only if the numbers of iterations differ.
std::vector<const Metric*> metric_rows(const std::vector<Metrics>& runs, bool with_iteration) {
  std::vector<const Metric*> rows;
  for (const Metrics& run : runs)
    for (const Metric& metric : run) {
      const bool is_listed =
          std::ranges::any_of(rows, [&](const Metric* row) { return row->name == metric.name; });
      const bool is_essential = metric.name == "makespan_s" || metric.name == "bubble_ratio";
      if (metric.name == "iteration_s" && !with_iteration) continue;
      if (!is_listed && metric.value && (is_essential || *metric.value != 0))
        rows.push_back(&metric);
    }
  return rows;
}

// Table of the metrics: the values of all runs, and the differences from the first run.
std::string metrics_table(const std::vector<RunFigures>& runs) {
  std::vector<Metrics> metrics;
  for (const RunFigures& run : runs) metrics.push_back(metrics_of(run));
  using Row = const Metric*;
  ReportColumns<Row> columns{
      {"label", {""}, Quantity::name(), [](const Row& row) { return row->label; }}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    columns.push_back(
        {"value", {printable(runs[i].name)}, Quantity::count(), [&, i](const Row& row) -> Json {
           const Metric* const metric = find_metric(metrics[i], row->name);
           if (metric == nullptr || !metric->value) return nullptr;
           return format_value(metric->quantity, *metric->value);
         }});
    const auto add = [&](const char* heading, const auto& text_of) {
      columns.push_back(
          {heading, {heading}, Quantity::count(), [&metrics, i, text_of](const Row& row) -> Json {
             const Metric* const first = find_metric(metrics.front(), row->name);
             const Metric* const metric = find_metric(metrics[i], row->name);
             if (first == nullptr || metric == nullptr || !first->value || !metric->value)
               return unknown_change;
             return text_of(metric->quantity, *first->value, *metric->value);
           }});
    };
    if (i == 0) continue;
    add("difference", format_difference);
    add("change", [](MetricKind, double base, double value) { return format_change(base, value); });
  }
  return table_text(columns, metric_rows(metrics, unlike_iterations(runs)));
}

// Table of the first 24 rows, followed by a line that gives the number of hidden rows.
template <class Row>
std::string table_of_first(const ReportColumns<Row>& columns, std::vector<Row> rows) {
  constexpr std::size_t max_rows = 24;
  const std::size_t hidden = rows.size() - std::min(rows.size(), max_rows);
  rows.resize(rows.size() - hidden);
  const std::string table = table_text(columns, rows);
  return hidden > 0 ? table + fmt::format("and {} more (--json lists all)\n", hidden) : table;
}

// Memory peaks of a device in two runs, in bytes.
struct PeakChange {
  std::uint32_t device;
  double was, is;
};

std::string memory_table(const RunFigures& first, const RunFigures& run) {
  const auto& before = first.summary.devices;
  const auto& after = run.summary.devices;
  if (before.size() != after.size()) return {};
  std::vector<PeakChange> changed;
  for (std::size_t i = 0; i < after.size(); ++i)
    if (before[i].peak_memory_bytes != after[i].peak_memory_bytes)
      changed.push_back({after[i].device, static_cast<double>(before[i].peak_memory_bytes),
                         static_cast<double>(after[i].peak_memory_bytes)});
  if (changed.empty()) return {};
  const Quantity bytes =
      Quantity::each_as([](double value) { return format_value(MetricKind::bytes, value); });
  const ReportColumns<PeakChange> columns{
      {"device", {"device"}, Quantity::name(), &PeakChange::device},
      {"was", {printable(first.name)}, bytes, &PeakChange::was},
      {"is", {printable(run.name)}, bytes, &PeakChange::is},
      {"difference",
       {"difference"},
       Quantity::count(),
       [](const PeakChange& peak) {
         return format_difference(MetricKind::bytes, peak.was, peak.is);
       }},
      {"change", {"change"}, Quantity::count(), [](const PeakChange& peak) {
         return format_change(peak.was, peak.is);
       }}};
  return "\npeak memory of the devices that differ:\n" + table_of_first(columns, changed);
}

ReportColumns<SettingChange> setting_columns(const std::string& first, const std::string& other) {
  return {{"key", {"setting"}, Quantity::name(), &SettingChange::key},
          {"baseline", {printable(first)}, Quantity::name(), &SettingChange::was},
          {"value", {printable(other)}, Quantity::name(), &SettingChange::is}};
}

// Longest value of a setting in a table, in characters. Longer lists are shortened.
constexpr std::size_t longest_value = 60;

std::set<std::string> items_of(const std::string& list) {
  std::set<std::string> items;
  constexpr std::string_view separator = ", ";
  for (std::size_t start = 0; start < list.size();) {
    const std::size_t end = std::min(list.find(separator, start), list.size());
    items.insert(list.substr(start, end - start));
    start = end + separator.size();
  }
  return items;
}

// Returns the items that only the second or only the first list has: "+zb-h1 -gpipe".
std::string item_changes(const std::set<std::string>& was, const std::set<std::string>& is) {
  std::string text;
  const auto add = [&](char sign, const std::set<std::string>& items,
                       const std::set<std::string>& others) {
    for (const std::string& item : items)
      if (!others.contains(item))
        text += fmt::format("{}{}{}", text.empty() ? "" : " ", sign, item);
  };
  add('+', is, was);
  add('-', was, is);
  return text;
}

// Shortens lists that are too long for a table: the first to the number of its items, the second to
// the changes of the first, or to its number of items if there are too many changes.
SettingChange shortened(SettingChange change) {
  const auto is_long = [](const std::optional<std::string>& text) {
    return text && text->size() > longest_value && text->find(", ") != std::string::npos;
  };
  if (!is_long(change.was) && !is_long(change.is)) return change;
  const std::set<std::string> was = items_of(change.was.value_or(""));
  const std::set<std::string> is = items_of(change.is.value_or(""));
  const std::string changes = item_changes(was, is);
  const bool are_comparable = change.was && change.is && *change.was != "[]" && *change.is != "[]";
  if (is_long(change.was)) change.was = counted(was.size(), "item");
  if (are_comparable && !changes.empty() && changes.size() <= longest_value)
    change.is = changes;
  else if (is_long(change.is))
    change.is = counted(is.size(), "item");
  return change;
}

// Table of the settings in which two runs differ; empty if there are none.
std::string settings_table(const RunFigures& first, const RunFigures& run) {
  if (run.settings.empty()) return {};
  std::vector<SettingChange> changes;
  for (const SettingChange& change : run.settings) changes.push_back(shortened(change));
  return '\n' + table_text(setting_columns(first.name, run.name), changes);
}

std::string describe_shift(const PassMove& pass) {
  std::string text =
      fmt::format("{}: starts at {}, was {} ({})", describe(pass.pass),
                  format_seconds(pass.second_start), format_seconds(pass.first_start),
                  format_difference(MetricKind::seconds, pass.first_start, pass.second_start));
  if (pass.first_device != pass.second_device)
    text += fmt::format("; on device {}, was {}", pass.second_device, pass.first_device);
  return text;
}

std::string describe_first(const PassMove& pass) {
  if (difference(pass.first_length, pass.second_length) == 0) return describe_shift(pass);
  return fmt::format("{}; takes {}, was {}", describe_shift(pass),
                     format_seconds(pass.second_length), format_seconds(pass.first_length));
}

ReportColumns<KindChange> kind_columns() {
  using Kind = KindChange;
  const Quantity seconds = Quantity::each_as(format_seconds);
  const auto shift = [](const Kind& kind) {
    const bool has_moved = kind.later + kind.earlier > 0;
    return format_difference(MetricKind::seconds, 0, has_moved ? kind.mean_shift : 0);
  };
  const auto change = [](const Kind& kind) {
    return format_change(kind.first_length, kind.second_length);
  };
  return {table_only<Kind>({"name",
                            {"passes"},
                            Quantity::name(),
                            [](const Kind& kind) {
                              return fmt::format("{} of stage {}", pass_letter(kind.kind),
                                                 kind.stage);
                            }}),
          {"stage", &Kind::stage},
          {"kind", [](const Kind& kind) { return pass_letter(kind.kind); }},
          {"passes", {"number"}, Quantity::count(), &Kind::passes},
          {"later", {"later"}, Quantity::count(), &Kind::later},
          {"earlier", {"earlier"}, Quantity::count(), &Kind::earlier},
          {"mean_shift_s", &Kind::mean_shift},
          {"mean_duration_s", {"mean is"}, seconds, &Kind::second_length},
          {"baseline_mean_duration_s", {"mean was"}, seconds, &Kind::first_length},
          table_only<Kind>({"change", {"change"}, Quantity::count(), change}),
          table_only<Kind>({"shift", {"mean shift"}, Quantity::count(), shift})};
}

// Table of the stages and kinds of passes whose start or duration changed.
std::string kinds_table(const Moves& moves) {
  std::vector<KindChange> changed;
  std::ranges::copy_if(moves.kinds, std::back_inserter(changed), [](const KindChange& kind) {
    return kind.later + kind.earlier > 0 || difference(kind.first_length, kind.second_length) != 0;
  });
  if (changed.empty()) return {};
  return table_of_first(
      picked(kind_columns(), {"name", "passes", "baseline_mean_duration_s", "mean_duration_s",
                              "change", "later", "earlier", "shift"}),
      changed);
}

std::string moves_text(const RunFigures& first, const RunFigures& run, const Moves& moves) {
  std::string text =
      fmt::format("\npasses of {} against {}: ", printable(run.name), printable(first.name));
  if (!moves.not_comparable.empty()) return text + "not compared: " + moves.not_comparable + "\n";
  text += fmt::format("{} in both", moves.matched);
  if (moves.only_first > 0) text += fmt::format(", {} missing", moves.only_first);
  if (moves.only_second > 0) text += fmt::format(", {} new", moves.only_second);
  if (moves.on_other_device > 0)
    text += fmt::format(", {} on another device", moves.on_other_device);
  if (!moves.first) return text + "; no pass moved\n";
  text += fmt::format("\n{} start later, {} earlier, {} unchanged; {} take longer, {} shorter\n",
                      moves.later, moves.earlier, moves.unmoved, moves.longer, moves.shorter);
  text += fmt::format("first difference: {}\n", describe_first(*moves.first));
  for (const PassMove& pass : moves.largest)
    text += fmt::format("{} {}\n",
                        &pass == moves.largest.data() ? "largest shifts: " : "                ",
                        describe_shift(pass));
  return text + '\n' + kinds_table(moves);
}

ReportColumns<PassMove> move_columns() {
  ReportColumns<PassMove> columns = of_part<PassMove>(pass_columns(), &PassMove::pass);
  const ReportColumns<PassMove> move_figures{{"device", &PassMove::second_device},
                                             {"baseline_device", &PassMove::first_device},
                                             {"start_s", &PassMove::second_start},
                                             {"baseline_start_s", &PassMove::first_start},
                                             {"shift_s", &PassMove::shift},
                                             {"duration_s", &PassMove::second_length},
                                             {"baseline_duration_s", &PassMove::first_length}};
  columns.insert(columns.end(), move_figures.begin(), move_figures.end());
  return columns;
}

Json moves_json(const Moves& moves) {
  Json json;
  if (!moves.not_comparable.empty()) {
    json["not_compared"] = moves.not_comparable;
    return json;
  }
  json["in_both"] = moves.matched;
  json["only_in_baseline"] = moves.only_first;
  json["only_here"] = moves.only_second;
  json["on_another_device"] = moves.on_other_device;
  json["later"] = moves.later;
  json["earlier"] = moves.earlier;
  json["unmoved"] = moves.unmoved;
  json["longer"] = moves.longer;
  json["shorter"] = moves.shorter;
  json["first_to_differ"] = moves.first ? json_object(move_columns(), *moves.first) : Json();
  json["largest_shifts"] = json_rows(move_columns(), moves.largest);
  json["by_stage_and_kind"] = json_rows(kind_columns(), moves.kinds);
  return json;
}

Json run_json(const RunFigures& run) {
  Json json;
  json["file"] = run.name;
  json["schedule"] = run.summary.run.schedule;
  trace::add_evidence(json, run.summary.run.evidence);
  json["job"] = run.summary.run.job;
  json["metrics"] = metrics_json(metrics_of(run));
  json["devices"] =
      json_rows(picked(device_columns(run.summary.makespan_s),
                       {"device", "busy_s", "exposed_communication_s", "peak_memory_bytes"}),
                run.summary.devices);
  return json;
}

}  // namespace

std::string console_text(const TraceComparison& comparison) {
  const RunFigures& first = comparison.runs.front();
  std::string text = metrics_table(comparison.runs);
  std::vector<trace::Evidence> evidence;
  for (const RunFigures& run : comparison.runs) evidence.push_back(run.summary.run.evidence);
  text += evidence_lines(evidence);
  for (std::size_t i = 1; i < comparison.runs.size(); ++i)
    for (const std::string& note : unlike_notes(first, comparison.runs[i]))
      text += fmt::format("note: {}\n", note);
  const std::string links = link_note(comparison.runs);
  if (!links.empty()) text += fmt::format("note: {}\n", links);
  for (std::size_t i = 1; i < comparison.runs.size(); ++i) {
    text += settings_table(first, comparison.runs[i]);
    text += memory_table(first, comparison.runs[i]);
    text += moves_text(first, comparison.runs[i], comparison.moves[i - 1]);
  }
  if (!comparison.judgements.empty()) text += '\n' + describe(comparison.judgements);
  return text;
}

std::string json_text(const TraceComparison& comparison) {
  const RunFigures& first = comparison.runs.front();
  Json json;
  json["baseline"] = run_json(first);
  json["others"] = Json::array();
  for (std::size_t i = 1; i < comparison.runs.size(); ++i) {
    Json run = run_json(comparison.runs[i]);
    run["differences"] = differences_json(metrics_of(first), metrics_of(comparison.runs[i]));
    run["notes"] = unlike_notes(first, comparison.runs[i]);
    run["settings"] = json_rows(setting_columns(first.name, comparison.runs[i].name),
                                comparison.runs[i].settings);
    run["passes"] = moves_json(comparison.moves[i - 1]);
    json["others"].push_back(std::move(run));
  }
  json["notes"] = Json::array();
  if (const std::string note = link_note(comparison.runs); !note.empty())
    json["notes"].push_back(note);
  json["conditions"] = judgements_json(comparison.judgements);
  return json_document(json);
}

}  // namespace pipewright::analysis
