#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "analysis/compare/compare_json.hpp"
#include "analysis/compare/trace_comparison.hpp"
#include "analysis/summary_columns.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t most_rows = 24;  // of a table that grows with the run
constexpr const char* unknown = "-";

using Cells = std::vector<std::string>;

// What a run's value is, and for all but the first how it differs.
void add_run(TextTable& table, const std::string& name, const Metrics& base, const Metrics& run,
             const std::vector<const Metric*>& rows, bool is_first) {
  Cells values, differences, changes;
  for (const Metric* const row : rows) {
    const Metric* const first = find_metric(base, row->name);
    const Metric* const own = find_metric(run, row->name);
    const bool known = own != nullptr && own->value;
    const bool both = known && first != nullptr && first->value;
    values.push_back(known ? format_value(own->quantity, *own->value) : unknown);
    differences.push_back(both ? format_difference(own->quantity, *first->value, *own->value)
                               : unknown);
    changes.push_back(both ? format_change(*first->value, *own->value) : unknown);
  }
  table.add_numbers({printable(name)}, std::move(values));
  if (is_first) return;
  table.add_numbers({"difference"}, std::move(differences));
  table.add_numbers({"change"}, std::move(changes));
}

// Metrics that some run has more than nothing of, in the first one's order. An iteration's time
// tells something new only of runs with unlike numbers of them.
std::vector<const Metric*> rows_of(const std::vector<Metrics>& runs, bool with_iteration) {
  std::vector<const Metric*> rows;
  for (const Metrics& run : runs)
    for (const Metric& metric : run) {
      const bool shown =
          std::ranges::any_of(rows, [&](const Metric* row) { return row->name == metric.name; });
      const bool always = metric.name == "makespan_s" || metric.name == "bubble_ratio";
      if (metric.name == "iteration_s" && !with_iteration) continue;
      if (!shown && metric.value && (always || *metric.value != 0)) rows.push_back(&metric);
    }
  return rows;
}

std::string metrics_table(const std::vector<RunFigures>& runs) {
  std::vector<Metrics> metrics;
  for (const RunFigures& run : runs) metrics.push_back(metrics_of(run));
  const std::vector<const Metric*> rows = rows_of(metrics, unlike_iterations(runs));
  Cells labels;
  for (const Metric* const row : rows) labels.push_back(printable(row->label));
  TextTable table;
  table.add_names("", std::move(labels));
  for (std::size_t i = 0; i < runs.size(); ++i)
    add_run(table, runs[i].name, metrics.front(), metrics[i], rows, i == 0);
  return table.text();
}

// The memory peak of each device, where it is not what it was.
std::string memory_table(const RunFigures& first, const RunFigures& run) {
  const auto& before = first.summary.devices;
  const auto& after = run.summary.devices;
  if (before.size() != after.size()) return {};
  Cells names, was, is, differences, changes;
  std::size_t more = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const auto old_peak = static_cast<double>(before[i].peak_memory_bytes);
    const auto new_peak = static_cast<double>(after[i].peak_memory_bytes);
    if (old_peak == new_peak) continue;
    if (names.size() == most_rows) {
      ++more;
      continue;
    }
    names.push_back(std::to_string(after[i].device));
    was.push_back(format_bytes(before[i].peak_memory_bytes));
    is.push_back(format_bytes(after[i].peak_memory_bytes));
    differences.push_back(format_difference(MetricKind::bytes, old_peak, new_peak));
    changes.push_back(format_change(old_peak, new_peak));
  }
  if (names.empty()) return {};
  TextTable table;
  table.add_names("device", std::move(names));
  table.add_numbers({printable(first.name)}, std::move(was));
  table.add_numbers({printable(run.name)}, std::move(is));
  table.add_numbers({"difference"}, std::move(differences));
  table.add_numbers({"change"}, std::move(changes));
  std::string text = "\nmemory peak of the devices that differ:\n" + table.text();
  if (more > 0) text += fmt::format("and {} more (--json lists all)\n", more);
  return text;
}

std::string describe_shift(const Moved& pass) {
  std::string text =
      fmt::format("{}: starts at {}, was {} ({})", describe(pass.pass),
                  format_seconds(pass.second_start), format_seconds(pass.first_start),
                  format_difference(MetricKind::seconds, pass.first_start, pass.second_start));
  if (pass.first_device != pass.second_device)
    text += fmt::format("; on device {}, was {}", pass.second_device, pass.first_device);
  return text;
}

std::string describe_first(const Moved& pass) {
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

// Of those that changed, the first ones.
std::string kinds_table(const Moves& moves) {
  std::vector<KindChange> changed;
  std::ranges::copy_if(moves.kinds, std::back_inserter(changed), [](const KindChange& kind) {
    return kind.later + kind.earlier > 0 || difference(kind.first_length, kind.second_length) != 0;
  });
  if (changed.empty()) return {};
  const std::size_t more = changed.size() - std::min(changed.size(), most_rows);
  changed.resize(changed.size() - more);
  const std::string table =
      table_text(picked(kind_columns(), {"name", "passes", "baseline_mean_duration_s",
                                         "mean_duration_s", "change", "later", "earlier", "shift"}),
                 changed);
  return more > 0 ? table + fmt::format("and {} more (--json lists all)\n", more) : table;
}

std::string moves_text(const RunFigures& first, const RunFigures& run, const Moves& moves) {
  std::string text =
      fmt::format("\npasses of {} against {}: ", printable(run.name), printable(first.name));
  if (!moves.not_comparable.empty())
    return text + "not compared, as " + moves.not_comparable + "\n";
  text += fmt::format("{} in both", moves.matched);
  if (moves.only_first > 0) text += fmt::format(", {} are gone", moves.only_first);
  if (moves.only_second > 0) text += fmt::format(", {} are new", moves.only_second);
  if (moves.elsewhere > 0) text += fmt::format(", {} on another device", moves.elsewhere);
  if (!moves.first) return text + "; none moved\n";
  text += fmt::format("\n{} start later, {} earlier, {} as before; {} take longer, {} shorter\n",
                      moves.later, moves.earlier, moves.unmoved, moves.longer, moves.shorter);
  text += fmt::format("first to differ: {}\n", describe_first(*moves.first));
  for (const Moved& pass : moves.largest)
    text += fmt::format("{} {}\n",
                        &pass == moves.largest.data() ? "largest shifts: " : "                ",
                        describe_shift(pass));
  return text + '\n' + kinds_table(moves);
}

ReportColumns<Moved> move_columns() {
  ReportColumns<Moved> columns = of_part<Moved>(pass_columns(), &Moved::pass);
  const ReportColumns<Moved> more{{"device", &Moved::second_device},
                                  {"baseline_device", &Moved::first_device},
                                  {"start_s", &Moved::second_start},
                                  {"baseline_start_s", &Moved::first_start},
                                  {"shift_s", &Moved::shift},
                                  {"duration_s", &Moved::second_length},
                                  {"baseline_duration_s", &Moved::first_length}};
  columns.insert(columns.end(), more.begin(), more.end());
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
  json["on_another_device"] = moves.elsewhere;
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
  std::string text;
  for (std::size_t i = 1; i < comparison.runs.size(); ++i)
    for (const std::string& note : unlike_notes(first, comparison.runs[i]))
      text += fmt::format("note: {}\n", note);
  if (!text.empty()) text += '\n';
  text += metrics_table(comparison.runs);
  const std::string links = link_note(comparison.runs);
  if (!links.empty()) text += fmt::format("note: {}\n", links);
  for (std::size_t i = 1; i < comparison.runs.size(); ++i) {
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
