#include "analysis/report/search/search_tables.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/names.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t max_reasons = 3;
constexpr std::size_t max_rules = 6;
constexpr std::size_t max_line_width = 76;
constexpr std::size_t max_note_lines = 2;

// Breaks a text into lines of the table of counts. Text beyond the second line is omitted.
std::vector<std::string> fold_note(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.size();
    if (end - begin > max_line_width) {
      end = text.rfind(' ', begin + max_line_width);
      if (end == std::string::npos || end <= begin) end = begin + max_line_width;
    }
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    lines.push_back(text.substr(begin, end - begin));
    begin = end + (end < text.size() && text[end] == ' ' ? 1 : 0);
    if (lines.size() == max_note_lines && begin < text.size()) {
      lines.back() += " ...";
      break;
    }
  }
  return lines;
}

struct CountLine {
  std::uint64_t count;
  std::string words;
};

// Adds a text to the table of counts, on one or more lines; only the first line shows the count.
void add_count_lines(std::vector<CountLine>& lines, std::uint64_t count, std::size_t blanks,
                     const std::string& words) {
  for (const std::string& text : fold_note(words)) {
    lines.push_back({count, std::string(blanks, ' ') + text});
    count = 0;
  }
}

void add_reasons(std::vector<CountLine>& lines, const SearchRun& run,
                 const std::vector<Reason>& reasons) {
  if (reasons.size() == 1 && run.rows[reasons.front().example].note.empty()) return;
  for (const Reason& reason : std::span(reasons).first(std::min(reasons.size(), max_reasons))) {
    const CandidateRow& row = run.rows[reason.example];
    add_count_lines(lines, reason.rows, 4,
                    row.note.empty() ? "without a reason" : printable(row.note));
    add_count_lines(lines, 0, 6, fmt::format("for example {}", candidate_name(run, row)));
  }
  if (reasons.size() > max_reasons)
    add_count_lines(lines, 0, 4, counted(reasons.size() - max_reasons, "other reason"));
}

using Columns = ReportColumns<CandidateRow>;

bool is_whole(const std::string& text) {
  return text.find_first_not_of("0123456789") == std::string::npos;
}

// Returns columns for the axis `row_axis` and for the axes in which rows differ, and appends the
// common values to `common`.
Columns axis_columns(const SearchRun& run, std::span<const CandidateRow* const> rows,
                     std::optional<std::size_t> row_axis, std::string& common) {
  Columns columns;
  std::vector<std::size_t> axes = open_axes(run);
  if (row_axis) {  // the column that names the row comes first
    std::erase(axes, *row_axis);
    axes.insert(axes.begin(), *row_axis);
  }
  for (const std::size_t axis : axes) {
    const auto value = [&run, axis](const CandidateRow& row) { return value_of(run, row, axis); };
    const std::string name = printable(run.axes[axis].name);
    const std::string first = value(*rows.front());
    if (axis != row_axis &&
        std::ranges::all_of(rows, [&](const auto* row) { return value(*row) == first; })) {
      common += fmt::format("{}{} {}", common.empty() ? "" : ", ", name, printable(first));
      continue;
    }
    const bool is_number = std::ranges::all_of(
        rows, [&](const auto* row) { return is_whole(printable(value(*row))); });
    columns.push_back({name, {name}, is_number ? Quantity::count() : Quantity::name(), value});
  }
  return columns;
}

std::string behind_text(const SearchRun& run, double best_cost, const CandidateRow& row) {
  const double cost = cost_of(run, row);
  if (!std::isfinite(cost)) return "floor";
  if (cost == best_cost) return "best";
  return fmt::format("{:.1f}", 100 * relative_loss(run.objective, cost, best_cost));
}

std::string percent_cell(double ratio) { return fmt::format("{:.1f}", ratio / 0.01); }

std::string whole_percent_cell(double ratio) { return fmt::format("{:.0f}", ratio / 0.01); }

Quantity quantity_of(FigureForm form) {
  switch (form) {
    case FigureForm::ratio:
      return Quantity::each_as(percent_cell);
    case FigureForm::seconds:
      return Quantity::seconds(4);
    case FigureForm::bytes:
      return Quantity::bytes();
    case FigureForm::rate:
      return Quantity::rate();
    case FigureForm::amount:
      return Quantity::each_as(format_scaled);
    default:
      return Quantity::count();
  }
}

// Returns the column of a figure, under the heading that `candidate_figures` gives it.
ReportColumn<CandidateRow> figure_column(const CandidateFigure& figure) {
  std::vector<std::string> heading{figure.heading};
  if (figure.unit.form == FigureForm::ratio) heading.emplace_back("%");
  ReportColumn<CandidateRow> column(figure.key, std::move(heading), quantity_of(figure.unit.form),
                                    [&figure](const CandidateRow& row) {
                                      return visit_figure(row, figure,
                                                          [](auto value) { return Json(value); });
                                    });
  column.is_optional = true;
  return column;
}

// Returns the columns throughput, MFU, time and memory, and those of all other figures with a
// heading. A table omits columns that are empty in all rows.
Columns performance_columns(bool of_tokens) {
  using Row = CandidateRow;
  Columns columns{
      optional<Row>({"throughput",
                     {of_tokens ? "tokens" : "samples"},
                     Quantity::rate(),
                     [](const Row& row) { return throughput(row.work, seconds_of(row)); }}),
      optional<Row>({"mfu",
                     {"MFU"},
                     Quantity::percent(),
                     [](const Row& row) { return mfu(row.work, seconds_of(row)); }}),
      optional<Row>({"time_s", {"iteration"}, Quantity::seconds(4), seconds_of})};
  for (const CandidateFigure& figure : candidate_figures)
    if (figure.heading != nullptr) columns.push_back(figure_column(figure));
  columns.push_back(optional<Row>({"peak_bytes", {"memory"}, Quantity::bytes(), &Row::peak_bytes}));
  columns.push_back(optional<Row>(
      {"fullness", {"used", "%"}, Quantity::each_as(whole_percent_cell), [](const Row& row) {
         return row.capacity_bytes == 0
                    ? 0
                    : static_cast<double>(row.peak_bytes) / static_cast<double>(row.capacity_bytes);
       }}));
  return columns;
}

// Returns the columns that exist only if candidates were judged by a goodput run: the work per day
// and the effective training time.
Columns goodput_columns(bool of_tokens) {
  return {{"a_day",
           {of_tokens ? "tokens" : "samples", "a day"},
           Quantity::count(),
           [](const CandidateRow& row) {
             return format_scaled(work_per_day(row.work, seconds_of(row)));
           }},
          {"effective", {"effective", "time", "%"}, Quantity::count(), [](const CandidateRow& row) {
             return fmt::format("{:.2f}", (1 - row.work.lost_part) / 0.01);
           }}};
}

}  // namespace

std::string grouped(double count) {
  if (!(count < 1e15)) return fmt::format("{:.2g}", count);
  const std::string digits = fmt::format("{:.0f}", count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string no_best_reason(const OutcomeCounts& outcomes) {
  const auto count = [&](Outcome outcome) { return outcomes[static_cast<std::size_t>(outcome)]; };
  if (count(Outcome::simulated) > 0) return "below the floor";
  if (count(Outcome::failed) > 0) return "failed";
  if (count(Outcome::open) > 0) return "not simulated yet";
  if (count(Outcome::bounded_away) > 0) return "bounded away";
  if (count(Outcome::does_not_fit) > 0) return "none fits";
  return count(Outcome::illegal) > 0 ? "none legal" : "no candidate";
}

const char* unexamined_words(const SearchRun& run) {
  if (run.shard.count == 1) return "not examined";
  return run.finished ? "in other shards, not examined" : "not examined, here or in other shards";
}

TextTable counts_table(const SearchRun& run, const Findings& findings) {
  std::vector<CountLine> lines;
  std::uint64_t excluded = 0;
  for (const Excluded& rule : run.excluded) excluded += rule.combinations;
  if (excluded > 0) {
    lines.push_back({excluded, "excluded by rules"});
    std::vector<Excluded> rules = run.excluded;
    std::ranges::stable_sort(rules, std::ranges::greater{}, &Excluded::combinations);
    for (const Excluded& rule : std::span(rules).first(std::min(rules.size(), max_rules)))
      if (rule.combinations > 0) add_count_lines(lines, rule.combinations, 4, printable(rule.rule));
    if (rules.size() > max_rules)
      add_count_lines(lines, 0, 4, counted(rules.size() - max_rules, "other rule"));
  }
  const auto count = [&](Outcome outcome) {
    return findings.outcomes[static_cast<std::size_t>(outcome)];
  };
  const std::uint64_t fit = count(Outcome::open) + count(Outcome::bounded_away) +
                            count(Outcome::simulated) + count(Outcome::failed);
  for (const Outcome outcome : {Outcome::illegal, Outcome::does_not_fit, Outcome::bounded_away,
                                Outcome::open, Outcome::failed, Outcome::simulated}) {
    if (count(outcome) == 0 && outcome != Outcome::simulated) continue;
    std::string words = outcome_words.at(static_cast<std::size_t>(outcome));
    if (outcome == Outcome::open) words = "not simulated yet";
    if (outcome == Outcome::simulated && fit > 0)
      words += fmt::format(
          ", {} of the candidates that fit",
          format_percent(static_cast<double>(count(outcome)) / static_cast<double>(fit)));
    lines.push_back({count(outcome), words});
    if (outcome == Outcome::illegal) add_reasons(lines, run, findings.illegal);
    if (outcome == Outcome::illegal && findings.has_refusals)
      add_count_lines(lines, 0, 4, std::string(refusal_hint));
    if (outcome == Outcome::does_not_fit) add_reasons(lines, run, findings.does_not_fit);
    if (outcome == Outcome::failed) add_reasons(lines, run, findings.failed);
  }
  std::vector<std::string> numbers;
  std::vector<std::string> words;
  for (const CountLine& line : lines) {
    const bool is_continuation = line.count == 0 && line.words.front() == ' ';
    numbers.push_back(is_continuation ? "" : grouped(static_cast<double>(line.count)));
    words.push_back(line.words);
  }
  if (findings.not_looked_at > 0) {
    numbers.push_back(grouped(findings.not_looked_at));
    words.emplace_back(unexamined_words(run));
  }
  TextTable table;
  table.add_numbers({}, std::move(numbers));
  table.add_names("", std::move(words));
  return table;
}

std::string objective_text(const SearchRun& run, const CandidateRow& row) {
  return printable(cost_text(run.objective, row.work, cost_of(run, row)));
}

std::string memory_text(const CandidateRow& row) {
  if (row.capacity_bytes == 0) return format_bytes(row.peak_bytes);
  const ColumnScale scale =
      memory_scale(static_cast<double>(std::max(row.peak_bytes, row.capacity_bytes)));
  return fmt::format("{} of {} {}", scale(static_cast<double>(row.peak_bytes)),
                     scale(static_cast<double>(row.capacity_bytes)), scale.unit);
}

std::string row_table(const SearchRun& run, std::span<const std::size_t> rows,
                      std::optional<std::size_t> best, bool with_gpus,
                      std::optional<std::size_t> axis) {
  if (rows.empty()) return "";
  std::vector<const CandidateRow*> row_pointers;
  for (const std::size_t i : rows) row_pointers.push_back(&run.rows[i]);
  std::string common;
  Columns columns = axis_columns(run, row_pointers, axis, common);
  if (with_gpus)
    columns.insert(columns.begin(),
                   {"gpus", {"GPUs"}, Quantity::count(), [](const CandidateRow& row) {
                      return fmt::to_string(row.work.gpus);
                    }});
  const bool is_price = run.objective.kind == Objective::Kind::price;
  if (is_price || run.objective.kind == Objective::Kind::time_to_train)
    columns.push_back({"worth",
                       {is_price ? "price" : "time", "to train"},
                       Quantity::count(),
                       [&](const CandidateRow& row) {
                         return cost_text(run.objective, row.work, cost_of(run, row));
                       }});
  if (run.objective.kind == Objective::Kind::tokens_a_day)
    std::ranges::move(goodput_columns(row_pointers.front()->work.tokens > 0),
                      std::back_inserter(columns));
  if (best)
    columns.push_back({"behind",
                       {"behind", "%"},
                       Quantity::count(),
                       [&run, best_cost = cost_of(run, run.rows[*best])](const CandidateRow& row) {
                         return behind_text(run, best_cost, row);
                       }});
  std::ranges::move(performance_columns(row_pointers.front()->work.tokens > 0),
                    std::back_inserter(columns));
  const auto table_rows = std::views::transform(
      row_pointers, [](const CandidateRow* row) -> const CandidateRow& { return *row; });
  return table_text(columns, table_rows) +
         (common.empty() || rows.size() == 1 ? "" : fmt::format("common values: {}\n", common));
}

}  // namespace pipewright::analysis
