#include "analysis/commlogs/reports/fit_report.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

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

Json bound(double value, bool open) { return open ? Json(nullptr) : Json(value); }

// Files have numbers in SI units, tables in those that suit them.
const ReportColumns<FittedParameter>& parameter_columns() {
  using One = FittedParameter;
  static const ReportColumns<One> columns{
      {"name", {"parameter"}, Quantity::name(), &One::name},
      table_only<One>({"before",
                       {"in file"},
                       Quantity::count(),
                       [](const One& one) { return number(one.before, one.unit); }}),
      table_only<One>({"value",
                       {"fitted"},
                       Quantity::count(),
                       [](const One& one) { return number(one.value, one.unit); }}),
      table_only<One>({"shown_unit",
                       {"unit"},
                       Quantity::name(),
                       [](const One& one) { return unit_text(one.unit); }}),
      table_only<One>({"interval", {"68 % interval"}, Quantity::count(), interval_text}),
      table_only<One>({"uncertainty", {""}, Quantity::count(), uncertainty_text}),
      {"unit", &One::unit},
      {"file", &One::before},
      {"fit", &One::value},
      {"low", [](const One& one) { return bound(one.low, one.open_low); }},
      {"high", [](const One& one) { return bound(one.high, one.open_high); }}};
  return columns;
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

// Errors of the same rows with the file's numbers and with the fitted ones.
struct BothErrors {
  std::string name;
  ErrorSummary before;
  ErrorSummary after;
};

std::string percent_cell(double error) { return fmt::format("{:.1f}", 100 * error); }

std::string table_of(std::span<const BothErrors> lines) {
  using Both = BothErrors;
  using Of = ErrorSummary Both::*;
  const auto error = [](Of of, const char* head, double ErrorSummary::*member) {
    const char* whose = of == &Both::before ? "file's" : "fitted";
    return ReportColumn<Both>(head, {whose, head}, Quantity::each_as(percent_cell),
                              [of, member](const Both& one) { return (one.*of).*member; });
  };
  return table_text(
      ReportColumns<Both>{
          {"name", {"error of predictions"}, Quantity::name(), &Both::name},
          {"rows", {"rows"}, Quantity::count(), [](const Both& one) { return one.after.rows; }},
          error(&Both::before, "median %", &ErrorSummary::median),
          error(&Both::before, "p90 %", &ErrorSummary::p90),
          error(&Both::before, "bias %", &ErrorSummary::bias),
          error(&Both::after, "median %", &ErrorSummary::median),
          error(&Both::after, "p90 %", &ErrorSummary::p90),
          error(&Both::after, "max %", &ErrorSummary::largest),
          error(&Both::after, "bias %", &ErrorSummary::bias)},
      lines);
}

std::string error_table(const FitReport& report) {
  std::vector<BothErrors> lines;
  const bool has_held_out =
      std::ranges::any_of(report.after, [](const ComparedRow& row) { return row.held_out; });
  for (const bool held_out : {false, true})
    if (!held_out || has_held_out)
      lines.push_back({held_out ? "rows held out" : "rows fitted",
                       errors_of(report.before, held_out), errors_of(report.after, held_out)});
  const std::vector<ComparedCurve> before = curves_of(report.before);
  const std::vector<ComparedCurve> after = curves_of(report.after);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const ErrorSummary errors = errors_of(after[i].rows, has_held_out);
    if (errors.rows != 0)
      lines.push_back({fmt::format("{}{}", has_held_out ? "held out: " : "", after[i].name),
                       errors_of(before[i].rows, has_held_out), errors});
  }
  return fmt::format("\n{}", table_of(lines));
}

// What a fit to part of the rows says of the others.
std::string trial_table(const FitReport& report) {
  if (report.trials.empty()) return "";
  std::vector<BothErrors> lines;
  std::string lacks;
  std::string worse;
  for (const FitTrial& one : report.trials) {
    if (one.after.empty())
      lacks += fmt::format("{} is not held out: {}\n", one.way, one.lacks);
    else
      lines.push_back({one.way, summarize(one.before), summarize(one.after)});
    if (is_worse(one))
      worse += fmt::format(
          "WORSE than the file: a fit without {} predicts that with {}, the file with {}\n",
          one.way, format_percent(summarize(one.after).median),
          format_percent(summarize(one.before).median));
  }
  return fmt::format("\nheld out, and predicted by a fit to the rest:\n{}{}{}",
                     lines.empty() ? "" : table_of(lines), lacks, worse);
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

Json errors_json(const ErrorSummary& errors) {
  if (errors.rows == 0) return nullptr;
  return {{"rows", errors.rows},
          {"median", errors.median},
          {"p90", errors.p90},
          {"largest", errors.largest},
          {"bias", errors.bias}};
}

Json both_json(std::span<const ComparedRow> before, std::span<const ComparedRow> after,
               bool held_out) {
  return {{"file", errors_json(errors_of(before, held_out))},
          {"fit", errors_json(errors_of(after, held_out))}};
}

std::string_view word(KeptBecause why) {
  constexpr std::array<std::string_view, 3> words{"no_trace", "likeness", "no_gain"};
  return words[static_cast<std::size_t>(why)];
}

const ReportColumns<KeptParameter>& kept_columns() {
  using One = KeptParameter;
  static const ReportColumns<One> columns{
      {"name", &One::name},
      {"unit", &One::unit},
      {"value", &One::value},
      {"why", [](const One& one) { return word(one.why); }},
      {"like", [](const One& one) { return one.like.empty() ? Json() : Json(one.like); }}};
  return columns;
}

const ReportColumns<ComparedRow>& outlier_columns() {
  using Row = ComparedRow;
  static const ReportColumns<Row> columns{
      {"file", [](const Row& row) { return row.measured.file; }},
      {"line", [](const Row& row) { return row.measured.line; }},
      {"bytes", [](const Row& row) { return row.measured.bytes; }},
      {"held_out", &Row::held_out},
      {"measured_s", [](const Row& row) { return row.measured.seconds; }},
      {"predicted_s", &Row::predicted},
      {"error", &Row::error}};
  return columns;
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

bool is_worse(const FitTrial& trial) {
  constexpr double ratio = 1.05;
  constexpr double least = 0.001;
  return summarize(trial.after).median > ratio * summarize(trial.before).median + least;
}

std::string fit_text(const FitReport& report) {
  const auto held_out = static_cast<std::size_t>(
      std::ranges::count_if(report.after, [](const ComparedRow& row) { return row.held_out; }));
  std::string text = fmt::format("{} fitted to {} rows of {} {}{}\n\n", printable(report.cluster),
                                 report.after.size() - held_out, report.files.size(),
                                 report.files.size() == 1 ? "log" : "logs",
                                 held_out == 0 ? "" : fmt::format(", {} more held out", held_out));
  text += report.fitted.empty() ? "no parameter makes predictions of left-out rows clearly better\n"
                                : table_text(parameter_columns(), report.fitted);
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
  return text + error_table(report) + trial_table(report) + outlier_text(report) +
         kept_text(report);
}

std::string fit_json(const FitReport& report) {
  Json json;
  json["cluster"] = report.cluster;
  json["logs"] = report.files;
  json["parameters"] = json_rows(parameter_columns(), report.fitted);
  json["keeps_expectations"] = report.keeps_expectations;
  const ReportColumns<Likeness> alike{{"one", &Likeness::one},
                                      {"other", &Likeness::other},
                                      {"correlation", &Likeness::correlation}};
  json["alike"] = json_rows(alike, report.alike);
  json["kept"] = json_rows(kept_columns(), report.kept);
  json["robust_deviation"] = report.deviation;
  json["errors"] = {{"fitted", both_json(report.before, report.after, false)},
                    {"held_out", both_json(report.before, report.after, true)}};
  json["trials"] = Json::array();
  for (const FitTrial& one : report.trials)
    json["trials"].push_back({{"held_out", one.way},
                              {"lacks", one.lacks.empty() ? Json() : Json(one.lacks)},
                              {"file", errors_json(summarize(one.before))},
                              {"fit", errors_json(summarize(one.after))},
                              {"worse", is_worse(one)}});
  json["curves"] = Json::array();
  const std::vector<ComparedCurve> before = curves_of(report.before);
  const std::vector<ComparedCurve> after = curves_of(report.after);
  for (std::size_t i = 0; i < after.size(); ++i)
    json["curves"].push_back({{"name", after[i].name},
                              {"fitted", both_json(before[i].rows, after[i].rows, false)},
                              {"held_out", both_json(before[i].rows, after[i].rows, true)}});
  json["outliers"] = Json::array();
  for (const std::size_t row : report.outliers)
    json["outliers"].push_back(json_object(outlier_columns(), report.after[row]));
  return json_document(json);
}

}  // namespace pipewright::analysis
