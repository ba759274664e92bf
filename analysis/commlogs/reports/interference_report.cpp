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

std::string times_text(double factor) { return fmt::format("x{:.2f}", factor); }

std::string size_of(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(std::max(0.0, bytes)));
}

const ReportColumns<TrafficFigures>& traffic_columns() {
  using Kind = TrafficFigures;
  static const ReportColumns<Kind> columns{
      {"name", {"traffic"}, Quantity::name(), &Kind::name},
      {"says", {"collective"}, Quantity::name(), &Kind::operation},
      {"by", {"by"}, Quantity::name(), &Kind::by},
      {"groups", {"groups"}, Quantity::count(), &Kind::groups},
      {"ranks_of_a_group", {"of ranks"}, Quantity::count(), &Kind::ranks},
      {"one_group_s", {"one group", "alone"}, Quantity::each_as(format_seconds), &Kind::one_group},
      {"alone_s", {"all groups", "at once"}, Quantity::each_as(format_seconds), &Kind::alone},
      {"slow_down_by_own_groups", &Kind::slow_down}};
  return columns;
}

std::string traffic_text(const Interference& found) {
  return table_text(picked(traffic_columns(), {"name", "groups", "ranks_of_a_group", "says", "by",
                                               "one_group_s", "alone_s"}),
                    found.traffic);
}

std::string slow_downs_text(const Interference& found) {
  TextTable table;
  std::vector<std::string> names;
  for (const TrafficFigures& kind : found.traffic) names.push_back(printable(kind.name));
  table.add_names("slows", names);
  for (std::size_t other = 0; other < names.size(); ++other) {
    std::vector<std::string> cells;
    for (std::size_t one = 0; one < names.size(); ++one)
      cells.push_back(times_text(found.slow_down(one, other)));
    table.add_numbers({"beside", names[other]}, std::move(cells));
  }
  return table.text();
}

// A line for each class of links that the two share.
std::string encounters_text(const Interference& found) {
  std::array<std::vector<std::string>, 6> columns;
  const auto add = [&](std::array<std::string, 6> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].push_back(std::move(cells[i]));
  };
  for (const Encounter& two : found.encounters) {
    const std::array kinds{two.one, two.other};
    const std::array together{two.one_together, two.other_together};
    const std::size_t lines = std::max<std::size_t>(2, two.shared.size());
    for (std::size_t line = 0; line < lines; ++line) {
      std::array<std::string, 6> cells;
      if (line < 2) {
        const TrafficFigures& kind = found.traffic[kinds[line]];
        cells[0] = (line == 0 ? "" : "+ ") + printable(kind.name);
        cells[1] = format_seconds(kind.alone);
        cells[2] = format_seconds(together[line]);
      }
      if (line < two.shared.size()) {
        const SharedLinks& shared = two.shared[line];
        cells[3] = fmt::format("{} {}", shared.links, printable(shared.link_class));
        cells[4] = printable(shared.busiest);
        cells[5] = fmt::format("{} + {}", size_of(shared.bytes), size_of(shared.other_bytes));
      } else if (line == 0) {
        cells[3] = "none";
      }
      add(std::move(cells));
    }
  }
  TextTable table;
  table.add_names("both once", std::move(columns[0]));
  table.add_numbers({"alone"}, std::move(columns[1]));
  table.add_numbers({"together"}, std::move(columns[2]));
  table.add_names("shared links", std::move(columns[3]));
  table.add_names("the busiest", std::move(columns[4]));
  table.add_numbers({"bytes of each"}, std::move(columns[5]));
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

Json encounter_json(const Interference& found, const Encounter& two) {
  Json json{{"one", found.traffic[two.one].name},
            {"other", found.traffic[two.other].name},
            {"one_while_other_is_busy_s", two.one_busy},
            {"one_slow_down", found.slow_down(two.one, two.other)},
            {"one_together_s", two.one_together},
            {"other_while_one_is_busy_s", two.other_busy},
            {"other_slow_down", found.slow_down(two.other, two.one)},
            {"other_together_s", two.other_together}};
  json["shared_links"] = json_rows(shared_columns(), two.shared);
  return json;
}

}  // namespace

double Interference::slow_down(std::size_t one, std::size_t other) const {
  if (one == other) return traffic[one].slow_down();
  for (const Encounter& two : encounters) {
    if (two.one == one && two.other == other) return two.one_busy / traffic[one].alone;
    if (two.one == other && two.other == one) return two.other_busy / traffic[one].alone;
  }
  throw std::logic_error("two kinds of traffic that never met");
}

std::string interference_text(const Interference& found) {
  std::string text = fmt::format("{}: {} ranks, {}\n\n{}", printable(found.cluster), found.ranks,
                                 found.layout, traffic_text(found));
  text +=
      "\nHow many times as long a row takes while a column sends all the time; beside itself: all\n"
      "its groups at once, against one of them alone.\n\n" +
      slow_downs_text(found);
  if (!found.encounters.empty())
    text += "\nBoth start at the same time, once:\n\n" + encounters_text(found);
  return text;
}

std::string interference_json(const Interference& found) {
  Json json{{"cluster", found.cluster}, {"ranks", found.ranks}, {"layout", found.layout}};
  json["traffic"] = json_rows(traffic_columns(), found.traffic);
  json["encounters"] = Json::array();
  for (const Encounter& two : found.encounters)
    json["encounters"].push_back(encounter_json(found, two));
  json["definitions"] = "analysis/metrics.md";
  return json_document(json);
}

}  // namespace pipewright::analysis
