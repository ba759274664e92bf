#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/palette.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"
#include "analysis/why/why.hpp"

namespace pipewright::analysis {
namespace {

using Cells = std::vector<std::string>;

constexpr std::size_t most_stages = 24;  // that the table of slack has room for

// Cells of a column, from rows.
template <class Row, class Say>
Cells cells(const std::vector<Row>& rows, const Say& say) {
  Cells texts;
  for (const Row& row : rows) texts.push_back(say(row));
  return texts;
}

std::string name_of(const PathShare& share) {
  if (share.part == CriticalPart::compute)
    return fmt::format("compute, {} ({})", style(share.kind).words, style(share.kind).letter);
  return share.link_class.empty()
             ? words(share.part)
             : fmt::format("{} over {}", words(share.part), printable(share.link_class));
}

std::string path_table(const WhyReport& report) {
  const auto& rows = report.path.parts;
  TextTable table;
  table.add_names("critical path", cells(rows, name_of));
  table.add_numbers({"time"},
                    cells(rows, [](const PathShare& row) { return format_seconds(row.seconds); }));
  table.add_numbers({"of time"}, cells(rows, [&](const PathShare& row) {
                      return format_percent(row.seconds / report.makespan_s);
                    }));
  const bool contends = std::ranges::any_of(
      rows, [](const PathShare& row) { return row.contention_s.value_or(0) > 0; });
  if (contends)
    table.add_numbers({"waits for", "other flows"}, cells(rows, [](const PathShare& row) {
                        return row.contention_s ? format_seconds(*row.contention_s) : "";
                      }));
  return table.text();
}

std::string device_table(const WhyReport& report) {
  const auto& rows = report.devices;
  TextTable table;
  table.add_names("device",
                  cells(rows, [](const TimeSplit& row) { return fmt::format("{}", row.device); }));
  // A column without anything in it goes.
  const auto add = [&](const std::vector<std::string>& head, const auto& seconds) {
    if (std::ranges::all_of(
            rows, [&](const TimeSplit& row) { return seconds(row) < 1e-9 * report.makespan_s; }))
      return;
    table.add_numbers(head, cells(rows, [&](const TimeSplit& row) {
                        return format_percent(seconds(row) / report.makespan_s);
                      }));
  };
  add({"compute"}, [](const TimeSplit& row) { return row.computing_s(); });
  add({"in", "passes"}, [](const TimeSplit& row) { return row.in_passes_s; });
  add({"p2p"}, [](const TimeSplit& row) { return row.p2p_s; });
  add({"weights"}, [](const TimeSplit& row) { return row.weights_s; });
  add({"gradients"}, [](const TimeSplit& row) { return row.gradients_s; });
  add({"embed-", "dings"}, [](const TimeSplit& row) { return row.embeddings_s; });
  add({"norm"}, [](const TimeSplit& row) { return row.norm_s; });
  add({"optimizer"}, [](const TimeSplit& row) { return row.optimizer_s; });
  add({"bubble:", "warm-up"}, [](const TimeSplit& row) { return row.warm_up_s; });
  add({"bubble:", "steady"}, [](const TimeSplit& row) { return row.steady_s; });
  add({"bubble:", "cool-down"}, [](const TimeSplit& row) { return row.cool_down_s; });
  add({"bubble:", "imbalance"}, [](const TimeSplit& row) { return row.imbalance_s; });
  return table.text();
}

std::string slack_table(const WhyReport& report) {
  struct Row {
    std::string what;
    double slack, seconds, mean_s, cost_s;
  };
  std::vector<Row> rows;
  std::vector<StageSlack> stages = report.slack.stages;
  std::string more;
  if (stages.size() > most_stages) {
    std::ranges::stable_sort(stages, std::ranges::greater{}, &StageSlack::cost_s);
    more = fmt::format("and {} stages that cost less\n", stages.size() - most_stages);
    stages.resize(most_stages);
  }
  for (const StageSlack& one : stages)
    rows.push_back({fmt::format("passes of stage {}", one.stage), one.slack, one.seconds,
                    one.mean_pass_s, one.cost_s});
  for (const LinkSlack& one : report.slack.links)
    rows.push_back({one.link_class.empty()
                        ? std::string("transfers")
                        : fmt::format("transfers over {}", printable(one.link_class)),
                    one.slack, one.seconds, one.mean_transfer_s, one.cost_s});
  TextTable table;
  table.add_names("may get slower", cells(rows, [](const Row& row) { return row.what; }));
  table.add_numbers({"each takes", "(mean)"},
                    cells(rows, [](const Row& row) { return format_seconds(row.mean_s); }));
  // What takes no time has any slack, which says nothing.
  const bool has_slack = std::ranges::any_of(
      rows, [](const Row& row) { return row.slack > 0 && std::isfinite(row.slack); });
  if (has_slack) {
    table.add_numbers({"slack"}, cells(rows, [](const Row& row) {
                        return std::isfinite(row.slack) ? format_percent(row.slack) : "any";
                      }));
    table.add_numbers({"slack", "of each"}, cells(rows, [](const Row& row) {
                        return std::isfinite(row.seconds) ? format_seconds(row.seconds) : "any";
                      }));
  } else {
    more += "no slack: all that takes time is on a critical path, if only for one microbatch\n";
  }
  const bool has_waits =
      std::ranges::any_of(report.devices, [](const TimeSplit& row) { return row.in_passes_s > 0; });
  if (has_waits) more += "passes: what they compute; their collectives take as long as they did\n";
  table.add_numbers({"10 % slower", "cost"}, cells(rows, [](const Row& row) {
                      return format_seconds(std::max(0.0, row.cost_s));
                    }));
  return table.text() + more;
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
  TextTable table;
  table.add_names("what if", cells(rows, [](const WhatIfRow& row) {
                    return printable(row.change) + (row.overflow ? " !" : "");
                  }));
  table.add_numbers(
      {"time"}, cells(rows, [](const WhatIfRow& row) { return format_seconds(*row.makespan_s); }));
  table.add_numbers({"gain"}, cells(rows, [&](const WhatIfRow& row) {
                      return format_seconds(gain_s(what_if, row));
                    }));
  table.add_numbers({"gain", "of time"}, cells(rows, [&](const WhatIfRow& row) {
                      return format_percent(gain_s(what_if, row) / what_if.rerun_s);
                    }));
  std::string text = rows.empty() ? "" : table.text() + marked;
  if (!rest.empty()) text += fmt::format("cannot run:\n{}", rest);
  for (const std::string& note : what_if.notes) text += fmt::format("note: {}\n", printable(note));
  return text;
}

}  // namespace

std::string why_text(const WhyReport& report) {
  std::string name = printable(report.schedule);
  if (report.chunks > 1) name += fmt::format(" x{}", report.chunks);
  std::string text =
      fmt::format("{}: {}\n{}\n\n", name, format_seconds(report.makespan_s), report.verdict);
  if (report.knows_inputs)
    text +=
        fmt::format("{}\n{}\n{}", path_table(report), device_table(report), slack_table(report));
  else
    text += device_table(report);
  if (report.what_if) text += fmt::format("\n{}", what_if_table(*report.what_if));
  return text;
}

}  // namespace pipewright::analysis
