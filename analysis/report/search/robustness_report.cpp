#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/robustness.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

struct Line {
  const CandidateRow* row = nullptr;
  RobustStanding standing;
  double behind = 0;  // as planned
  bool is_best = false;
};

std::string percent(double ratio) { return fmt::format("{:.1f}", 100 * ratio); }
std::string whole_percent(double ratio) { return fmt::format("{:.0f}", 100 * ratio); }

std::string interval(const Range& range) {
  return fmt::format("{:+.1f}..{:+.1f}", 100 * range.least, 100 * range.most);
}

// Without and with the model's error, side by side.
ReportColumns<Line> columns_of(bool with_error) {
  ReportColumns<Line> columns{
      {"behind", {"planned", "behind", "%"}, Quantity::count(), [](const Line& line) {
         return line.is_best ? "best" : percent(line.behind);
       }}};
  const auto add = [&](const char* over, Standing RobustStanding::*part) {
    const auto of = [part](const Line& line) -> const Standing& { return line.standing.*part; };
    columns.push_back({"wins", {over, "wins", "%"}, Quantity::count(), [of](const Line& line) {
                         return whole_percent(of(line).wins);
                       }});
    columns.push_back(
        {"interval", {over, "behind the best", "%"}, Quantity::count(), [of](const Line& line) {
           return line.is_best ? std::string("-") : interval(of(line).behind);
         }});
    columns.push_back({"worst", {over, "at worst", "%"}, Quantity::count(), [of](const Line& line) {
                         return percent(of(line).worst);
                       }});
  };
  add("conditions", &RobustStanding::conditions);
  if (with_error) add("+ error", &RobustStanding::with_error);
  columns.push_back(
      {"seconds", {"iteration", "in 90 %"}, Quantity::seconds(3), [](const Line& line) {
         return Json(line.standing.seconds);
       }});
  return columns;
}

// On lines that fit, all but the first after more blanks.
std::string folded(const std::string& text, std::size_t blanks) {
  constexpr std::size_t most = 98;
  std::string lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::string indent(blanks + (lines.empty() ? 0 : 2), ' ');
    std::size_t end = text.size();
    if (end - at > most - indent.size()) {
      end = text.rfind(' ', at + most - indent.size());
      if (end == std::string::npos || end <= at) end = text.size();
    }
    lines += fmt::format("{}{}\n", indent, text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string settings_text(const Robustness& robust) {
  const DrawSettings& set = robust.settings;
  std::vector<std::string> parts;
  if (set.jitter > 0) parts.push_back(fmt::format("jitter of {}", format_percent(set.jitter)));
  if (set.slow > 0 && set.slow_chance > 0)
    parts.push_back(fmt::format("in {} of them one GPU up to {} slower",
                                format_percent(set.slow_chance), format_percent(set.slow)));
  if (set.network > 0)
    parts.push_back(fmt::format(
        "network at {:.0f} to {:.0f} %{}", 100 * (1 - set.network), 100 * (1 + set.network),
        robust.link_classes.empty()
            ? " (latencies)"
            : fmt::format(" (latencies, {})", fmt::join(robust.link_classes, ", "))));
  return parts.empty() ? "nothing varies" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string band_text(const ErrorBand& band) {
  if (band.rows == 0)
    return fmt::format("+ error: comparisons are off by {}, as given (standard deviation)",
                       format_percent(band.scatter));
  return fmt::format(
      "+ error: 90 % of {} measured iterations ({}) took {:.0f} to {:.0f} % of what was predicted, "
      "and comparisons of runs of one model are off by {} (standard deviation)",
      band.rows, band.kind, 100 * (1 + band.low), 100 * (1 + band.high),
      format_percent(band.scatter));
}

// "2, 3 and 5".
std::string numbers_text(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ", numbers[i]);
  return text;
}

std::string verdict(const Robustness& robust, const std::vector<RobustStanding>& all) {
  if (robust.top == 1) return "nothing to compare it with: only one was asked for (top=1)\n";
  if (all.size() < 2) return "nothing to compare it with: no other differs in time or memory\n";
  std::vector<std::size_t> ties;
  std::vector<std::size_t> better;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Standing& one = robust.band ? all[i].with_error : all[i].conditions;
    if (one.behind.most < 0) better.push_back(i + 1);
    if (one.is_tie()) ties.push_back(i + 1);
  }
  std::string text;
  if (!better.empty())
    text = fmt::format(
        "{} better than the best in 95 % of the draws: 90 % of the paired "
        "differences are below 0\n",
        numbers_text(better) + (better.size() == 1 ? " is" : " are"));
  if (!ties.empty())
    text += fmt::format("a tie with 1: {}, as 0 lies within 90 % of the paired differences\n",
                        numbers_text(ties));
  return text.empty() ? "no tie: 90 % of the paired differences from 1 are above 0\n" : text;
}

std::string winner_of(const SearchRun& run, const Robustness& robust, const Turn& turn) {
  if (!turn.named.empty()) return turn.named;
  const auto known = std::ranges::find(robust.rows, turn.row, &RobustRow::row);
  return known == robust.rows.end() ? named(run, run.rows[turn.row])
                                    : fmt::format("{}", known - robust.rows.begin() + 1);
}

std::string turn_text(const SearchRun& run, const Robustness& robust, const Turn& turn) {
  const std::string value =
      turn.is_memory   ? format_bytes(static_cast<std::uint64_t>(turn.value))
      : turn.value > 0 ? fmt::format("{:.0f} % ({:.3g} GB/s)", 100 * turn.factor, turn.value / 1e9)
                       : fmt::format("{:.0f} %", 100 * turn.factor);
  const std::string lead = turn.is_memory && turn.below
                               ? fmt::format("{} behind 1", format_percent(turn.lead))
                               : fmt::format("by {}", format_percent(turn.lead));
  return fmt::format("{} {} {}: {} wins, {}{}", turn.what, turn.below ? "below" : "above", value,
                     winner_of(run, robust, turn), lead,
                     turn.is_memory ? "" : fmt::format(" at {:.0f} %", 100 * turn.far));
}

Json standing_json(const Standing& one) {
  return {{"wins", one.wins},
          {"behind_p5", one.behind.least},
          {"behind_p95", one.behind.most},
          {"worst", one.worst},
          {"is_tie", one.is_tie()}};
}

}  // namespace

std::string robustness_text(const SearchRun& run, const Robustness& robust) {
  if (robust.rows.empty()) return "";
  const std::vector<RobustStanding> all = standings(run, robust);
  std::string text =
      fmt::format("how sure is the winner? {} under the same {} (seed {})\n{}",
                  counted(robust.rows.size(), "candidate"), counted(robust.settings.draws, "draw"),
                  robust.settings.seed, folded(settings_text(robust), 2));
  if (robust.band) text += folded(band_text(*robust.band), 2);
  std::vector<Line> lines;
  std::vector<std::string> names;
  const double best = cost_of(run, run.rows[robust.rows.front().row]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const CandidateRow& row = run.rows[robust.rows[i].row];
    lines.push_back({&row, all[i], behind(run.objective, cost_of(run, row), best), i == 0});
    names.push_back(fmt::format("{}", i + 1));
  }
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += folded(fmt::format("{}  {}", names[i], named(run, *lines[i].row)), 2);
  TextTable table;
  table.add_numbers({""}, names);
  add_columns(table, columns_of(robust.band.has_value()), lines);
  text += "\n" + table.text();
  text += verdict(robust, all);
  if (!robust.turns.empty()) {
    text += "\nwhat would change the winner\n";
    for (const Turn& turn : robust.turns) text += folded(turn_text(run, robust, turn), 2);
  }
  if (!robust.steady.empty())
    text += folded(fmt::format("not {}", fmt::join(robust.steady, ", nor ")), 2);
  for (const std::string& note : robust.notes) text += fmt::format("note: {}\n", printable(note));
  return text;
}

Json robustness_json(const SearchRun& run, const Robustness& robust) {
  const DrawSettings& set = robust.settings;
  Json json{{"draws", set.draws},
            {"seed", set.seed},
            {"jitter", set.jitter},
            {"network", set.network},
            {"slow", set.slow},
            {"slow_chance", set.slow_chance},
            {"link_classes", robust.link_classes}};
  json["error"] = nullptr;
  if (const auto& band = robust.band)
    json["error"] = {{"kind", band->kind},  {"rows", band->rows}, {"p5", band->low},
                     {"p50", band->middle}, {"p95", band->high},  {"scatter", band->scatter}};
  json["candidates"] = Json::array();
  const std::vector<RobustStanding> all = standings(run, robust);
  for (std::size_t i = 0; i < all.size(); ++i)
    json["candidates"].push_back({{"candidate", run.rows[robust.rows[i].row].candidate},
                                  {"row", robust.rows[i].row},
                                  {"conditions", standing_json(all[i].conditions)},
                                  {"with_error", standing_json(all[i].with_error)},
                                  {"time_s_p5", all[i].seconds.least},
                                  {"time_s_p95", all[i].seconds.most},
                                  {"time_s", robust.rows[i].seconds}});
  json["turns"] = Json::array();
  for (const Turn& turn : robust.turns) {
    Json one{{"what", turn.what}, {"below", turn.below}};
    one[turn.is_memory ? "bytes" : "factor"] = turn.is_memory ? turn.value : turn.factor;
    if (!turn.is_memory && turn.value > 0) one["bytes_per_s"] = turn.value;
    one["lead"] = turn.lead;
    one["winner"] = turn.named.empty() ? named(run, run.rows[turn.row]) : turn.named;
    json["turns"].push_back(one);
  }
  json["steady"] = robust.steady;
  json["notes"] = robust.notes;
  return json;
}

}  // namespace pipewright::analysis
