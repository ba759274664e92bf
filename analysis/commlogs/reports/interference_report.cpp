#include "analysis/commlogs/reports/interference_report.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

std::string slow_down_text(double factor) { return fmt::format("x{:.2f}", factor); }

std::string traffic_size_text(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(std::max(0.0, bytes)));
}

const ReportColumns<TrafficFigures>& traffic_columns() {
  using Figures = TrafficFigures;
  static const ReportColumns<Figures> columns{
      {"name", {"traffic"}, Quantity::name(), &Figures::name},
      {"says", {"collective"}, Quantity::name(), &Figures::operation},
      {"by", {"algorithm"}, Quantity::name(), &Figures::method},
      {"groups", {"groups"}, Quantity::count(), &Figures::groups},
      {"ranks_of_a_group", {"group size"}, Quantity::count(), &Figures::ranks},
      {"one_group_s",
       {"one group", "alone"},
       Quantity::each_as(format_seconds),
       &Figures::one_group},
      {"alone_s", {"all groups", "at once"}, Quantity::each_as(format_seconds), &Figures::alone},
      {"slow_down_by_own_groups", &Figures::slow_down}};
  return columns;
}

std::string traffic_text(const Interference& interference) {
  return table_text(picked(traffic_columns(), {"name", "groups", "ranks_of_a_group", "says", "by",
                                               "one_group_s", "alone_s"}),
                    interference.traffic);
}

std::string slow_downs_text(const Interference& interference) {
  TextTable table;
  std::vector<std::string> names;
  for (const TrafficFigures& kind : interference.traffic) names.push_back(printable(kind.name));
  table.add_names("slowed", names);
  for (std::size_t column = 0; column < names.size(); ++column) {
    std::vector<std::string> cells;
    for (std::size_t row = 0; row < names.size(); ++row)
      cells.push_back(slow_down_text(interference.slow_down(row, column)));
    table.add_numbers({"beside", names[column]}, std::move(cells));
  }
  return table.text();
}

// Lists pairs of traffic kinds, with one line per class of links that the two share.
std::string encounters_text(const Interference& interference) {
  std::array<std::vector<std::string>, 6> columns;
  const auto add = [&](std::array<std::string, 6> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].push_back(std::move(cells[i]));
  };
  for (const Encounter& encounter : interference.encounters) {
    const std::array kinds{encounter.one, encounter.other};
    const std::array together{encounter.one_together, encounter.other_together};
    const std::size_t lines = std::max<std::size_t>(2, encounter.shared.size());
    for (std::size_t line = 0; line < lines; ++line) {
      std::array<std::string, 6> cells;
      if (line < 2) {
        const TrafficFigures& kind = interference.traffic[kinds[line]];
        cells[0] = (line == 0 ? "" : "+ ") + printable(kind.name);
        cells[1] = format_seconds(kind.alone);
        cells[2] = format_seconds(together[line]);
      }
      if (line < encounter.shared.size()) {
        const SharedLinks& shared = encounter.shared[line];
        cells[3] = fmt::format("{} {}", shared.links, printable(shared.link_class));
        cells[4] = printable(shared.busiest);
        cells[5] = fmt::format("{} + {}", traffic_size_text(shared.bytes),
                               traffic_size_text(shared.other_bytes));
      } else if (line == 0) {
        cells[3] = "none";
      }
      add(std::move(cells));
    }
  }
  TextTable table;
  table.add_names("pair", std::move(columns[0]));
  table.add_numbers({"alone"}, std::move(columns[1]));
  table.add_numbers({"together"}, std::move(columns[2]));
  table.add_names("shared links", std::move(columns[3]));
  table.add_names("busiest link", std::move(columns[4]));
  table.add_numbers({"bytes over it"}, std::move(columns[5]));
  return table.text();
}

const ReportColumns<SharedLinks>& shared_columns() {
  using Links = SharedLinks;
  static const ReportColumns<Links> columns{
      {"class", &Links::link_class}, {"links", &Links::links},
      {"busiest", &Links::busiest},  {"bandwidth_bytes_per_s", &Links::bandwidth},
      {"one_bytes", &Links::bytes},  {"other_bytes", &Links::other_bytes}};
  return columns;
}

Json encounter_json(const Interference& interference, const Encounter& encounter) {
  Json json{{"one", interference.traffic[encounter.one].name},
            {"other", interference.traffic[encounter.other].name},
            {"one_while_other_is_busy_s", encounter.one_busy},
            {"one_slow_down", interference.slow_down(encounter.one, encounter.other)},
            {"one_together_s", encounter.one_together},
            {"other_while_one_is_busy_s", encounter.other_busy},
            {"other_slow_down", interference.slow_down(encounter.other, encounter.one)},
            {"other_together_s", encounter.other_together}};
  json["shared_links"] = json_rows(shared_columns(), encounter.shared);
  return json;
}

}  // namespace

double Interference::slow_down(std::size_t kind, std::size_t neighbour) const {
  if (kind == neighbour) return traffic[kind].slow_down();
  for (const Encounter& encounter : encounters) {
    if (encounter.one == kind && encounter.other == neighbour)
      return encounter.one_busy / traffic[kind].alone;
    if (encounter.one == neighbour && encounter.other == kind)
      return encounter.other_busy / traffic[kind].alone;
  }
  throw std::logic_error("two kinds of traffic were not simulated together");
}

std::string interference_text(const Interference& interference) {
  std::string text =
      fmt::format("{}: {} ranks, {}\n\n{}", printable(interference.cluster), interference.ranks,
                  interference.layout, traffic_text(interference));
  text +=
      "\nSlow-down of the traffic in a row while that of a column sends without pause. The "
      "diagonal\n"
      "compares all groups of a kind at once with a single group.\n\n" +
      slow_downs_text(interference);
  if (!interference.encounters.empty())
    text += "\nEach pair, started once at the same time:\n\n" + encounters_text(interference);
  return text;
}

std::string interference_json(const Interference& interference) {
  Json json{{"cluster", interference.cluster},
            {"ranks", interference.ranks},
            {"layout", interference.layout}};
  json["traffic"] = json_rows(traffic_columns(), interference.traffic);
  json["encounters"] = Json::array();
  for (const Encounter& encounter : interference.encounters)
    json["encounters"].push_back(encounter_json(interference, encounter));
  json["definitions"] = "analysis/metrics.md";
  return json_document(json);
}

}  // namespace pipewright::analysis
