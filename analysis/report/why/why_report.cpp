#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/report/assumed.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/report/report_table.hpp"
#include "analysis/report/summary_columns.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/report/why/why.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t most_stages = 24;  // that the table of slack has room for

const Quantity seconds = Quantity::each_as(format_seconds);
const Quantity ratio = Quantity::each_as(format_percent);

std::string name_of(const PathShare& share) {
  if (share.part == CriticalPart::compute)
    return fmt::format("compute, {} ({})", style(share.kind).words, style(share.kind).letter);
  return share.link_class.empty() ? words(share.part)
                                  : fmt::format("{} over {}", words(share.part), share.link_class);
}

ReportColumns<PathShare> path_columns(double makespan_s) {
  Quantity contention = seconds;
  contention.unknown = "";
  return {
      table_only<PathShare>({"name", {"critical path"}, Quantity::name(), name_of}),
      {"part", [](const PathShare& one) { return words(one.part); }},
      {"kind",
       [](const PathShare& one) {
         return one.part == CriticalPart::compute ? Json(std::string(1, style(one.kind).letter))
                                                  : no_field();
       }},
      {"link_class",
       [](const PathShare& one) {
         return one.link_class.empty() ? no_field() : Json(one.link_class);
       }},
      {"seconds", {"time"}, seconds, &PathShare::seconds},
      {"share", {"of time"}, ratio, [=](const PathShare& one) { return one.seconds / makespan_s; }},
      optional<PathShare>({"contention_s",
                           {"waits for", "other flows"},
                           contention,
                           [](const PathShare& one) {
                             return one.contention_s ? Json(*one.contention_s) : no_field();
                           }}),
      {"pieces", &PathShare::pieces}};
}

// In tables the parts are of the makespan, and those that no device has are left out.
ReportColumns<TimeSplit> split_columns(double makespan_s) {
  Quantity part = Quantity::each_as([=](double s) { return format_percent(s / makespan_s); });
  part.negligible = 1e-9 * makespan_s;
  const auto column = [&](std::string key, std::vector<std::string> heading,
                          std::function<Json(const TimeSplit&)> value) {
    return optional<TimeSplit>({std::move(key), std::move(heading), part, std::move(value)});
  };
  const auto compute_by_kind = [](const TimeSplit& split) {
    Json compute = Json::object();
    for (std::size_t kind = 0; kind < split.compute_s.size(); ++kind)
      compute[std::string(1, kind_styles[kind].letter)] = split.compute_s[kind];
    return compute;
  };
  return {{"device", {"device"}, Quantity::name(), &TimeSplit::device},
          table_only(column("computing_s", {"compute"}, &TimeSplit::computing_s)),
          {"compute_s", compute_by_kind},
          column("in_passes_s", {"in", "passes"}, &TimeSplit::in_passes_s),
          column("p2p_s", {"p2p"}, &TimeSplit::p2p_s),
          column("weights_s", {"weights"}, &TimeSplit::weights_s),
          column("gradients_s", {"gradients"}, &TimeSplit::gradients_s),
          column("embeddings_s", {"embed-", "dings"}, &TimeSplit::embeddings_s),
          column("norm_s", {"norm"}, &TimeSplit::norm_s),
          column("optimizer_s", {"optimizer"}, &TimeSplit::optimizer_s),
          column("warm_up_s", {"bubble:", "warm-up"}, &TimeSplit::warm_up_s),
          column("steady_s", {"bubble:", "steady"}, &TimeSplit::steady_s),
          column("cool_down_s", {"bubble:", "cool-down"}, &TimeSplit::cool_down_s),
          column("imbalance_s", {"bubble:", "imbalance"}, &TimeSplit::imbalance_s)};
}

// What may get slower: the passes of a stage, or the transfers over a class of links.
struct Slowed {
  std::string name;
  Json id;
  double slack, seconds, cost_s, mean_s;
  std::uint64_t count;
};

Slowed slowed(const StageSlack& one) {
  return {fmt::format("passes of stage {}", one.stage),
          one.stage,
          one.slack,
          one.seconds,
          one.cost_s,
          one.mean_pass_s,
          one.passes};
}

Slowed slowed(const LinkSlack& one) {
  return {one.link_class.empty() ? "transfers" : fmt::format("transfers over {}", one.link_class),
          one.link_class,
          one.slack,
          one.seconds,
          one.cost_s,
          one.mean_transfer_s,
          one.transfers};
}

template <class Slack>
std::vector<Slowed> slowed(const std::vector<Slack>& all) {
  std::vector<Slowed> rows;
  for (const Slack& one : all) rows.push_back(slowed(one));
  return rows;
}

// Slack without limit is null in files.
ReportColumns<Slowed> slack_columns(const char* id, const char* mean_s, const char* count) {
  const auto or_any = [](std::string (*write)(double)) {
    return Quantity::each_as(
        [=](double value) { return std::isfinite(value) ? write(value) : "any"; });
  };
  const Quantity cost =
      Quantity::each_as([](double value) { return format_seconds(std::max(0.0, value)); });
  return {table_only<Slowed>({"name", {"may get slower"}, Quantity::name(), &Slowed::name}),
          {id, &Slowed::id},
          {"slack", {"slack"}, or_any(format_percent), &Slowed::slack},
          {"slack_s", {"slack", "of each"}, or_any(format_seconds), &Slowed::seconds},
          {"cost_of_10_percent_s", {"10 % slower", "cost"}, cost, &Slowed::cost_s},
          {mean_s, {"each takes", "(mean)"}, seconds, &Slowed::mean_s},
          {count, &Slowed::count}};
}

ReportColumns<WhatIfRow> what_if_columns(const WhatIf& what_if) {
  // What only a change that could run has.
  const auto if_it_ran = [](auto value_of) {
    return [=](const WhatIfRow& row) { return row.makespan_s ? Json(value_of(row)) : no_field(); };
  };
  const auto gain = [&](const WhatIfRow& row) { return gain_s(what_if, row); };
  const auto rests = [](const WhatIfRow& row) { return times_rest_on(row.assumed); };
  return {table_only<WhatIfRow>(
              {"name",
               {"what if"},
               Quantity::name(),
               [](const WhatIfRow& row) { return row.change + (row.overflow ? " !" : ""); }}),
          {"change", &WhatIfRow::change},
          marked<WhatIfRow>({"makespan_s", {"time"}, seconds, if_it_ran([](const WhatIfRow& row) {
                               return *row.makespan_s;
                             })},
                            rests),
          {"gain_s", {"gain"}, seconds, if_it_ran(gain)},
          {"gain", {"gain", "of time"}, ratio, if_it_ran([&, gain](const WhatIfRow& row) {
             return gain(row) / what_if.rerun_s;
           })},
          {"assumed", if_it_ran([](const WhatIfRow& row) { return row.assumed.keys; })},
          {"does_not_fit",
           [](const WhatIfRow& row) -> Json {
             if (!row.makespan_s || !row.overflow) return no_field();
             return {{"device", row.overflow->device},
                     {"peak_memory_bytes", row.overflow->peak_bytes},
                     {"memory_capacity_bytes", row.overflow->capacity_bytes}};
           }},
          {"why_not",
           [](const WhatIfRow& row) { return row.makespan_s ? no_field() : Json(row.why_not); }}};
}

Json path_json(const PathSplit& path, double makespan_s) {
  const ReportColumns<StageShare> stages{{"stage", &StageShare::stage},
                                         {"seconds", &StageShare::seconds}};
  return {{"computing_s", path.computing_s},
          {"communication_s", path.communication_s},
          {"optimizer_s", path.optimizer_s},
          {"waiting_s", path.waiting_s},
          {"parts", json_rows(path_columns(makespan_s), path.parts)},
          {"stages", json_rows(stages, path.stages)}};
}

std::string slack_table(const WhyReport& report) {
  std::vector<StageSlack> stages = report.slack.stages;
  std::string more;
  if (stages.size() > most_stages) {
    std::ranges::stable_sort(stages, std::ranges::greater{}, &StageSlack::cost_s);
    more = fmt::format("and {} stages that cost less\n", stages.size() - most_stages);
    stages.resize(most_stages);
  }
  std::vector<Slowed> rows = slowed(stages);
  for (const LinkSlack& one : report.slack.links) rows.push_back(slowed(one));
  const ReportColumns<Slowed> columns = slack_columns("id", "mean_s", "count");
  // What takes no time has any slack, which says nothing.
  const bool has_slack = std::ranges::any_of(
      rows, [](const Slowed& row) { return row.slack > 0 && std::isfinite(row.slack); });
  const std::string table = table_text(
      has_slack ? picked(columns, {"name", "mean_s", "slack", "slack_s", "cost_of_10_percent_s"})
                : picked(columns, {"name", "mean_s", "cost_of_10_percent_s"}),
      rows);
  if (!has_slack)
    more += "no slack: all that takes time is on a critical path, if only for one microbatch\n";
  if (std::ranges::any_of(report.devices,
                          [](const TimeSplit& split) { return split.in_passes_s > 0; }))
    more += "passes: what they compute; their collectives take as long as they did\n";
  return table + more;
}

std::string what_if_table(const WhatIf& what_if) {
  std::vector<WhatIfRow> rows;
  std::string marked;
  std::string rest;
  for (const WhatIfRow& row : what_if.rows) {
    if (row.makespan_s) rows.push_back(row);
    if (row.makespan_s && row.overflow)
      marked += fmt::format("! {} does not fit: device {} peaks at {}, it has {}\n",
                            printable(row.change), row.overflow->device,
                            format_bytes(row.overflow->peak_bytes),
                            format_bytes(row.overflow->capacity_bytes));
    if (!row.makespan_s)
      rest += fmt::format("  {}: {}\n", printable(row.change), printable(row.why_not));
  }
  std::string text = rows.empty() ? "" : table_text(what_if_columns(what_if), rows) + marked;
  if (!rest.empty()) text += fmt::format("cannot run:\n{}", rest);
  for (const std::string& note : what_if.notes) text += fmt::format("note: {}\n", printable(note));
  return text;
}

}  // namespace

std::string why_json_text(const WhyReport& report) {
  Json all{{"schedule", report.schedule},
           {"makespan_s", report.makespan_s},
           {"assumed", report.assumed.keys},
           {"assumed_gpu", report.assumed.gpu},
           {"verdict", report.verdict},
           {"knows_inputs", report.knows_inputs},
           {"critical_path", path_json(report.path, report.makespan_s)},
           {"devices", json_rows(split_columns(report.makespan_s), report.devices)},
           {"pass_collectives", json_rows(pass_collective_columns(), report.pass_collectives)},
           {"slack",
            {{"stages", json_rows(slack_columns("stage", "mean_pass_s", "passes"),
                                  slowed(report.slack.stages))},
             {"links", json_rows(slack_columns("link_class", "mean_transfer_s", "transfers"),
                                 slowed(report.slack.links))}}}};
  if (report.what_if)
    all["what_if"] = {{"rerun_s", report.what_if->rerun_s},
                      {"notes", report.what_if->notes},
                      {"rows", json_rows(what_if_columns(*report.what_if), report.what_if->rows)}};
  return json_document(all);
}

std::string why_text(const WhyReport& report) {
  std::string name = printable(report.schedule);
  if (report.chunks > 1) name += fmt::format(" x{}", report.chunks);
  std::string devices = table_text(split_columns(report.makespan_s), report.devices);
  if (!report.pass_collectives.empty())
    devices += '\n' + table_text(pass_collective_columns(), report.pass_collectives);
  std::string text = fmt::format("{}: {}{}\n{}\n\n", name, time_mark(report.assumed),
                                 format_seconds(report.makespan_s), report.verdict);
  if (report.knows_inputs)
    text +=
        fmt::format("{}\n{}\n{}", table_text(path_columns(report.makespan_s), report.path.parts),
                    devices, slack_table(report));
  else
    text += devices;
  std::vector<trace::Assumed> assumed{report.assumed};
  if (report.what_if) {
    text += fmt::format("\n{}", what_if_table(*report.what_if));
    for (const WhatIfRow& row : report.what_if->rows) assumed.push_back(row.assumed);
  }
  return text + assumed_lines(assumed);
}

}  // namespace pipewright::analysis
