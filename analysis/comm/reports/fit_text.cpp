#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "analysis/comm/reports/fit_report.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t most_outliers = 12;

std::string number(double value, const std::string& unit) {
  return fmt::format("{:.4g}", unit == "s" ? value * 1e6 : value);
}
std::string unit_text(const std::string& unit) { return unit == "s" ? "us" : unit; }

std::string uncertainty_text(const FittedParameter& one) {
  if (one.open_low || one.open_high || one.value == 0) return "";
  return fmt::format("+- {:.2g} %", 100 * (one.high - one.low) / 2 / one.value);
}

// More than four times, or less than a quarter.
bool is_far(const FittedParameter& one) {
  return one.before > 0 && (one.value > 4 * one.before || 4 * one.value < one.before);
}

std::string parameter_table(const FitReport& report) {
  std::vector<std::string> names, before, values, units, ranges, uncertainties;
  for (const FittedParameter& one : report.fitted) {
    names.push_back(printable(one.name));
    before.push_back(number(one.before, one.unit));
    values.push_back(number(one.value, one.unit));
    units.push_back(unit_text(one.unit));
    ranges.push_back(interval_text(one));
    uncertainties.push_back(uncertainty_text(one));
  }
  TextTable table;
  table.add_names("parameter", std::move(names));
  table.add_numbers({"in file"}, std::move(before));
  table.add_numbers({"fitted"}, std::move(values));
  table.add_names("unit", std::move(units));
  table.add_numbers({"68 % interval"}, std::move(ranges));
  table.add_numbers({""}, std::move(uncertainties));
  return table.text();
}

// One line for each reason.
std::string kept_text(const FitReport& report) {
  constexpr std::pair<KeptBecause, const char*> reasons[]{
      {KeptBecause::no_trace, "the rows say nothing about"},
      {KeptBecause::likeness, "the rows cannot tell from what is fitted"},
      {KeptBecause::no_gain, "left-out rows are not predicted clearly better by"},
  };
  std::string text;
  for (const auto& [why, words] : reasons) {
    std::string names;
    for (const KeptParameter& one : report.kept) {
      if (one.why != why) continue;
      names += fmt::format("\n  {} = {}", printable(one.name), parameter_text(one.value, one.unit));
      if (!one.like.empty()) names += fmt::format(" (like {})", printable(one.like));
    }
    if (!names.empty()) text += fmt::format("kept, as {}:{}\n", words, names);
  }
  return text.empty() ? text : fmt::format("\n{}", text);
}

class ErrorTable {
 public:
  void add(std::string name, const ErrorSummary& before, const ErrorSummary& after) {
    names_.push_back(std::move(name));
    rows_.push_back(std::to_string(after.rows));
    const std::array values{before.median, before.p90,    before.bias, after.median,
                            after.p90,     after.largest, after.bias};
    for (std::size_t i = 0; i < values.size(); ++i)
      cells_[i].push_back(fmt::format("{:.1f}", 100 * values[i]));
  }
  std::string text() && {
    constexpr std::array heads{"median %", "p90 %", "bias %", "median %",
                               "p90 %",    "max %", "bias %"};
    TextTable table;
    table.add_names("error of predictions", std::move(names_));
    table.add_numbers({"rows"}, std::move(rows_));
    for (std::size_t i = 0; i < heads.size(); ++i)
      table.add_numbers({i < 3 ? "file's" : "fitted", heads[i]}, std::move(cells_[i]));
    return table.text();
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> rows_;
  std::array<std::vector<std::string>, 7> cells_;
};

std::string error_table(const FitReport& report) {
  ErrorTable table;
  const bool has_held_out =
      std::ranges::any_of(report.after, [](const ComparedRow& row) { return row.held_out; });
  for (const bool held_out : {false, true})
    if (!held_out || has_held_out)
      table.add(held_out ? "rows held out" : "rows fitted", errors_of(report.before, held_out),
                errors_of(report.after, held_out));
  const std::vector<ComparedCurve> before = curves_of(report.before);
  const std::vector<ComparedCurve> after = curves_of(report.after);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const ErrorSummary errors = errors_of(after[i].rows, has_held_out);
    if (errors.rows != 0)
      table.add(fmt::format("{}{}", has_held_out ? "held out: " : "", printable(after[i].name)),
                errors_of(before[i].rows, has_held_out), errors);
  }
  return fmt::format("\n{}", std::move(table).text());
}

std::string outlier_text(const FitReport& report) {
  if (report.outliers.empty()) return "";
  std::string text = fmt::format(
      "\n{} {} off by more than 3 robust deviations ({}), and {} little on the fit:\n",
      report.outliers.size(), report.outliers.size() == 1 ? "row is" : "rows are",
      format_percent(3 * report.deviation), report.outliers.size() == 1 ? "bears" : "bear");
  for (std::size_t i = 0; i < std::min(report.outliers.size(), most_outliers); ++i) {
    const ComparedRow& row = report.after[report.outliers[i]];
    text += fmt::format("  {}:{}: {}{} measured {}, predicted {}\n", printable(row.measured.file),
                        row.measured.line, format_exact_bytes(row.measured.bytes),
                        row.measured.in_place ? " in place" : "",
                        format_seconds(row.measured.seconds), format_seconds(row.predicted));
  }
  if (report.outliers.size() > most_outliers)
    text +=
        fmt::format("  and {} more (--json lists them)\n", report.outliers.size() - most_outliers);
  return text;
}

}  // namespace

std::string parameter_text(double value, const std::string& unit) {
  return fmt::format("{}{}", number(value, unit), unit == "s" ? " us" : "");
}

std::string interval_text(const FittedParameter& one) {
  if (one.open_low && one.open_high) return "any value";
  if (one.open_low) return fmt::format("at most {}", number(one.high, one.unit));
  if (one.open_high) return fmt::format("at least {}", number(one.low, one.unit));
  return fmt::format("{} to {}", number(one.low, one.unit), number(one.high, one.unit));
}

ErrorSummary errors_of(std::span<const ComparedRow> rows, bool held_out) {
  std::vector<ComparedRow> those;
  for (const ComparedRow& row : rows)
    if (row.held_out == held_out) those.push_back(row);
  return summarize(those);
}

std::string fit_text(const FitReport& report) {
  const auto held_out = static_cast<std::size_t>(
      std::ranges::count_if(report.after, [](const ComparedRow& row) { return row.held_out; }));
  std::string text =
      fmt::format("{} fitted to {} rows of {} {}, {} more held out\n\n", printable(report.cluster),
                  report.after.size() - held_out, report.files.size(),
                  report.files.size() == 1 ? "log" : "logs", held_out);
  text += report.fitted.empty() ? "no parameter makes predictions of left-out rows clearly better\n"
                                : parameter_table(report);
  for (const FittedParameter& one : report.fitted)
    if (is_far(one))
      text += fmt::format(
          "\n{} is far from what the file says: it may stand for something that the file lacks, "
          "and\n"
          "mislead other operations and numbers of ranks than those of these rows\n",
          printable(one.name));
  for (const Likeness& pair : report.alike)
    text += fmt::format(
        "\nthe rows cannot tell {} from {} (correlation {:.2f}): what they make\n"
        "together is known better than each\n",
        printable(pair.one), printable(pair.other), pair.correlation);
  if (report.keeps_expectations && !report.fitted.empty())
    text +=
        "\nThe library goes on to choose algorithms and protocols by the numbers in the file: the "
        "rows\n"
        "are nearer to that than to a choice by the fitted ones (properties expected.*).\n";
  return text + error_table(report) + outlier_text(report) + kept_text(report);
}

}  // namespace pipewright::analysis
