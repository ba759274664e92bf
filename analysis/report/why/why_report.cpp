#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/report/report_table.hpp"
#include "analysis/report/summary_columns.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/report/why/why.hpp"
#include "analysis/trace/evidence_json.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t max_slack_stages = 24;  // rows of the table of slack

const Quantity seconds = Quantity::each_as(format_seconds);
const Quantity ratio_quantity = Quantity::each_as(format_percent);

std::string part_name(const PathShare& share) {
  if (share.part == CriticalPart::compute)
    return fmt::format("compute, {} ({})", style(share.kind).words, style(share.kind).letter);
  return share.link_class.empty() ? words(share.part)
                                  : fmt::format("{} over {}", words(share.part), share.link_class);
}

ReportColumns<PathShare> path_columns(double makespan_s) {
  Quantity contention = seconds;
  contention.unknown = "";
  return {table_only<PathShare>({"name", {"critical path"}, Quantity::name(), part_name}),
          {"part", [](const PathShare& share) { return words(share.part); }},
          {"kind",
           [](const PathShare& share) {
             return share.part == CriticalPart::compute
                        ? Json(std::string(1, style(share.kind).letter))
                        : no_field();
           }},
          {"link_class",
           [](const PathShare& share) {
             return share.link_class.empty() ? no_field() : Json(share.link_class);
           }},
          {"seconds", {"time"}, seconds, &PathShare::seconds},
          {"share",
           {"of makespan"},
           ratio_quantity,
           [=](const PathShare& share) { return share.seconds / makespan_s; }},
          optional<PathShare>({"contention_s",
                               {"waits for", "other flows"},
                               contention,
                               [](const PathShare& share) {
                                 return share.contention_s ? Json(*share.contention_s) : no_field();
                               }}),
          {"pieces", &PathShare::pieces}};
}

// Columns of the table of how devices spend their time, as percentages of the makespan. Activities
// that take no device any time are left out.
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
          column("in_passes_s", {"collectives", "in passes"}, &TimeSplit::in_passes_s),
          column("p2p_s", {"transfers"}, &TimeSplit::p2p_s),
          column("weights_s", {"weight", "gather"}, &TimeSplit::weights_s),
          column("gradients_s", {"gradient", "reduction"}, &TimeSplit::gradients_s),
          column("embeddings_s", {"tied", "embeddings"}, &TimeSplit::embeddings_s),
          column("norm_s", {"gradient", "norm"}, &TimeSplit::norm_s),
          column("optimizer_s", {"optimizer", "step"}, &TimeSplit::optimizer_s),
          column("replicas_s", {"other", "replicas"}, &TimeSplit::replicas_s),
          column("warm_up_s", {"bubble:", "warm-up"}, &TimeSplit::warm_up_s),
          column("steady_s", {"bubble:", "steady"}, &TimeSplit::steady_s),
          column("cool_down_s", {"bubble:", "cool-down"}, &TimeSplit::cool_down_s),
          column("imbalance_s", {"bubble:", "imbalance"}, &TimeSplit::imbalance_s)};
}

// Row of the table of slack: the passes of a stage, or the transfers over a class of links.
struct SlackRow {
  std::string name;
  Json id;
  double slack, seconds, cost_s, mean_s;
  std::uint64_t count;
};

SlackRow slack_row(const StageSlack& stage) {
  return {fmt::format("passes of stage {}", stage.stage),
          stage.stage,
          stage.slack,
          stage.seconds,
          stage.cost_s,
          stage.mean_pass_s,
          stage.passes};
}

SlackRow slack_row(const LinkSlack& link) {
  return {link.link_class.empty() ? "transfers" : fmt::format("transfers over {}", link.link_class),
          link.link_class,
          link.slack,
          link.seconds,
          link.cost_s,
          link.mean_transfer_s,
          link.transfers};
}

template <class Slack>
std::vector<SlackRow> slack_rows(const std::vector<Slack>& slacks) {
  std::vector<SlackRow> rows;
  for (const Slack& slack : slacks) rows.push_back(slack_row(slack));
  return rows;
}

// Columns of the table of slack. Slack without limit is infinite, which JSON represents by null.
ReportColumns<SlackRow> slack_columns(const char* id, const char* mean_s, const char* count) {
  const auto or_any = [](std::string (*write)(double)) {
    return Quantity::each_as(
        [=](double value) { return std::isfinite(value) ? write(value) : "any"; });
  };
  const Quantity cost =
      Quantity::each_as([](double value) { return format_seconds(std::max(0.0, value)); });
  return {table_only<SlackRow>({"name", {"slower work"}, Quantity::name(), &SlackRow::name}),
          {id, &SlackRow::id},
          {"slack", {"slack"}, or_any(format_percent), &SlackRow::slack},
          {"slack_s", {"slack", "of one"}, or_any(format_seconds), &SlackRow::seconds},
          {"cost_of_10_percent_s", {"cost of", "10 % slower"}, cost, &SlackRow::cost_s},
          {mean_s, {"mean", "duration"}, seconds, &SlackRow::mean_s},
          {count, &SlackRow::count}};
}

// Columns of the table of changed runs. The name of a run that does not fit into memory is marked
// "!". If even the unchanged run does not fit, the runs that do are marked "(fits)" instead.
ReportColumns<WhatIfRow> what_if_columns(const WhatIf& what_if, bool is_base_over) {
  // Fills a cell only for changed runs that could be simulated; the others have no makespan.
  const auto if_run = [](auto value_of) {
    return [=](const WhatIfRow& row) { return row.makespan_s ? Json(value_of(row)) : no_field(); };
  };
  const auto gain = [&](const WhatIfRow& row) { return gain_s(what_if, row); };
  return {
      table_only<WhatIfRow>({"name",
                             {"what if"},
                             Quantity::name(),
                             [is_base_over](const WhatIfRow& row) {
                               if (is_base_over)
                                 return row.change + (row.overflow ? "" : " (fits)");
                               return row.change + (row.overflow ? " !" : "");
                             }}),
      {"change", &WhatIfRow::change},
      {"makespan_s", {"time"}, seconds, if_run([](const WhatIfRow& row) {
         return *row.makespan_s;
       })},
      {"gain_s", {"gain"}, seconds, if_run(gain)},
      {"gain", {"gain", "of makespan"}, ratio_quantity, if_run([&, gain](const WhatIfRow& row) {
         return gain(row) / what_if.rerun_s;
       })},
      table_only(optional<WhatIfRow>({"set_words",
                                      {"--set"},
                                      Quantity::name(),
                                      [](const WhatIfRow& row) { return set_words(row.set); }})),
      {"set", &WhatIfRow::set},
      {"assumed", if_run([](const WhatIfRow& row) { return row.evidence.keys; })},
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

ReportColumns<LostTimeCause> lost_columns(const LostTime& lost) {
  const auto if_device = [](auto value_of) {
    return [=](const LostTimeCause& cause) {
      return cause.link.empty() ? Json(value_of(cause)) : no_field();
    };
  };
  return {table_only<LostTimeCause>({"name",
                                     {"lost time"},
                                     Quantity::name(),
                                     [](const LostTimeCause& cause) { return words(cause); }}),
          {"part", [](const LostTimeCause& cause) { return words(cause.part); }},
          {"replica", if_device([](const LostTimeCause& cause) { return cause.replica; })},
          {"device", if_device([](const LostTimeCause& cause) { return cause.device; })},
          {"host", if_device([](const LostTimeCause& cause) { return cause.host; })},
          {"link",
           [](const LostTimeCause& cause) {
             return cause.link.empty() ? no_field() : Json(cause.link);
           }},
          {"bandwidth",
           [](const LostTimeCause& cause) {
             return cause.link.empty() ? no_field() : Json(cause.bandwidth);
           }},
          {"seconds", {"time"}, seconds, &LostTimeCause::seconds},
          {"share",
           {"of lost time"},
           ratio_quantity,
           [&lost](const LostTimeCause& cause) { return cause.seconds / lost.seconds; }},
          {"path_s", {"longer on the", "critical path"}, seconds, &LostTimeCause::path_s}};
}

std::string lost_table(const LostTime& lost) {
  const std::string head =
      fmt::format("{} lost: the ideal run, without jitter, stragglers and slow links, takes {}\n",
                  format_seconds(std::max(0.0, lost.seconds)), format_seconds(lost.ideal_s));
  return lost.causes.empty() ? head : head + table_text(lost_columns(lost), lost.causes);
}

std::string slack_table(const WhyReport& report) {
  std::vector<StageSlack> stages = report.slack.stages;
  std::string more;
  if (stages.size() > max_slack_stages) {
    std::ranges::stable_sort(stages, std::ranges::greater{}, &StageSlack::cost_s);
    more = fmt::format("and {} stages that cost less\n", stages.size() - max_slack_stages);
    stages.resize(max_slack_stages);
  }
  std::vector<SlackRow> rows = slack_rows(stages);
  for (const LinkSlack& link : report.slack.links) rows.push_back(slack_row(link));
  const ReportColumns<SlackRow> columns = slack_columns("id", "mean_s", "count");
  // Only finite slack above zero deserves a column; work that takes no time has infinite slack.
  const bool has_slack = std::ranges::any_of(
      rows, [](const SlackRow& row) { return row.slack > 0 && std::isfinite(row.slack); });
  const std::string table = table_text(
      has_slack ? picked(columns, {"name", "mean_s", "slack", "slack_s", "cost_of_10_percent_s"})
                : picked(columns, {"name", "mean_s", "cost_of_10_percent_s"}),
      rows);
  if (!has_slack)
    more +=
        "no slack: every stage and link class is on a critical path, if only for one microbatch\n";
  if (std::ranges::any_of(report.devices,
                          [](const TimeSplit& split) { return split.in_passes_s > 0; }))
    more += "passes count without their collectives, which keep their duration\n";
  if (report.last_replica)
    more += fmt::format("slack and cost are those of replica 0 alone, which waits for replica {}\n",
                        *report.last_replica);
  return table + more;
}

// Returns a text such as "device 1 peaks at 3.0 GiB, its capacity is 1.0 GiB".
std::string overflow_text(const Overflow& overflow) {
  return fmt::format("device {} peaks at {}, its capacity is {}", overflow.device,
                     format_bytes(overflow.peak_bytes), format_bytes(overflow.capacity_bytes));
}

// Returns a text such as "stage 0, 1 or 2", or "one of stages 0..7" for many in a row; `stages` are
// in order.
std::string either_stage(const std::vector<std::uint32_t>& stages) {
  constexpr std::size_t max_listed = 3;
  if (stages.size() > max_listed && stages.back() - stages.front() + 1 == stages.size())
    return fmt::format("one of stages {}..{}", stages.front(), stages.back());
  const std::vector<std::uint32_t> first(stages.begin(), stages.end() - 1);
  return fmt::format("stage {} or {}", fmt::join(first, ", "), stages.back());
}

// Returns the rows of a table in which changes of single stages with the same printed time are one
// row, that of the largest gain. `rows` are in the order of gains.
std::vector<WhatIfRow> with_stages_together(const std::vector<WhatIfRow>& rows) {
  struct Stages {
    std::size_t row;
    std::vector<std::uint32_t> numbers;
  };
  std::vector<WhatIfRow> together;
  std::map<std::pair<std::string, bool>, Stages> groups;
  for (const WhatIfRow& row : rows) {
    if (row.stage) {
      const std::pair key{format_seconds(*row.makespan_s), row.overflow.has_value()};
      const auto [group, is_new] = groups.try_emplace(key, Stages{together.size(), {}});
      group->second.numbers.push_back(*row.stage);
      if (!is_new) continue;
    }
    together.push_back(row);
  }
  for (auto& [key, stages] : groups) {
    if (stages.numbers.size() == 1) continue;
    std::ranges::sort(stages.numbers);
    together[stages.row].change =
        fmt::format("passes of {} 10 % faster", either_stage(stages.numbers));
  }
  return together;
}

// Returns the table of changed runs. If the unchanged run does not fit into memory, that is
// reported once above the tables instead of in a line for each changed run.
std::string what_if_table(const WhatIf& what_if, bool is_base_over) {
  std::vector<WhatIfRow> rows;
  std::string overflows;
  std::string failures;
  for (const WhatIfRow& row : what_if.rows) {
    if (row.makespan_s) rows.push_back(row);
    if (row.makespan_s && row.overflow && !is_base_over)
      overflows += fmt::format("! {} does not fit: {}\n", printable(row.change),
                               overflow_text(*row.overflow));
    if (!row.makespan_s)
      failures += fmt::format("  {}: {}\n", printable(row.change), printable(row.why_not));
  }
  std::string text = rows.empty() ? ""
                                  : table_text(what_if_columns(what_if, is_base_over),
                                               with_stages_together(rows)) +
                                        overflows;
  if (!failures.empty()) text += fmt::format("cannot run:\n{}", failures);
  for (const std::string& note : what_if.notes) text += fmt::format("note: {}\n", printable(note));
  return text;
}

}  // namespace

std::string set_words(const std::vector<std::string>& settings) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  std::string words;
  for (const std::string& setting : settings) {
    const std::size_t value = setting.find('=') + 1;
    const bool is_plain = setting.find_first_not_of(plain, value) == std::string::npos;
    words += words.empty() ? "" : " ";
    words +=
        is_plain ? setting : fmt::format("{}'{}'", setting.substr(0, value), setting.substr(value));
  }
  return words;
}

std::string why_json_text(const WhyReport& report) {
  Json all{{"schedule", report.schedule},
           {"makespan_s", report.makespan_s},
           {"expected_error", trace::expected_error_json(report.evidence.expected_error)},
           {"assumed", report.evidence.keys},
           {"assumed_gpu", report.evidence.gpu},
           {"verdict", report.verdict},
           {"last_replica", report.last_replica ? Json(*report.last_replica) : Json()},
           {"knows_inputs", report.has_inputs},
           {"critical_path", path_json(report.path, report.makespan_s)},
           {"devices", json_rows(split_columns(report.makespan_s), report.devices)},
           {"pass_collectives", json_rows(pass_collective_columns(), report.pass_collectives)},
           {"slack",
            {{"stages", json_rows(slack_columns("stage", "mean_pass_s", "passes"),
                                  slack_rows(report.slack.stages))},
             {"links", json_rows(slack_columns("link_class", "mean_transfer_s", "transfers"),
                                 slack_rows(report.slack.links))}}}};
  if (report.lost)
    all["lost"] = {{"ideal_s", report.lost->ideal_s},
                   {"seconds", report.lost->seconds},
                   {"causes", json_rows(lost_columns(*report.lost), report.lost->causes)}};
  if (report.what_if)
    all["what_if"] = {
        {"rerun_s", report.what_if->rerun_s},
        {"notes", report.what_if->notes},
        {"rows", json_rows(what_if_columns(*report.what_if, report.overflow.has_value()),
                           report.what_if->rows)}};
  return json_document(all);
}

std::string why_text(const WhyReport& report) {
  std::string name = printable(report.schedule);
  if (report.chunks > 1) name += fmt::format(" x{}", report.chunks);
  std::string devices = table_text(split_columns(report.makespan_s), report.devices);
  if (!report.pass_collectives.empty())
    devices += '\n' + table_text(pass_collective_columns(), report.pass_collectives);
  std::string text =
      fmt::format("{}: {}\n{}\n", name, format_seconds(report.makespan_s), report.verdict);
  if (report.overflow) text += fmt::format("! does not fit: {}\n", overflow_text(*report.overflow));
  text += '\n';
  if (report.lost) text += lost_table(*report.lost) + '\n';
  if (report.has_inputs)
    text +=
        fmt::format("{}\n{}\n{}", table_text(path_columns(report.makespan_s), report.path.parts),
                    devices, slack_table(report));
  else
    text += devices;
  if (report.what_if)
    text += fmt::format("\n{}", what_if_table(*report.what_if, report.overflow.has_value()));
  return text + evidence_lines({report.evidence});
}

}  // namespace pipewright::analysis
