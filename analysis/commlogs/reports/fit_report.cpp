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

constexpr std::size_t max_outliers = 12;

std::string fit_number(double value, const std::string& unit) {
  return fmt::format("{:.4g}", unit == "s" ? value * 1e6 : value);
}
std::string fit_unit_text(const std::string& unit) { return unit == "s" ? "us" : unit; }

std::string uncertainty_text(const FittedParameter& parameter) {
  if (parameter.open_low || parameter.open_high || parameter.value == 0) return "";
  return fmt::format("+- {:.2g} %", 100 * (parameter.high - parameter.low) / 2 / parameter.value);
}

// Returns true if the fitted value differs from the file's by more than a factor of 4.
bool is_far(const FittedParameter& parameter) {
  return parameter.before > 0 &&
         (parameter.value > 4 * parameter.before || 4 * parameter.value < parameter.before);
}

Json bound_json(double value, bool open) { return open ? Json(nullptr) : Json(value); }

// JSON and CSV have values in SI units; tables have convenient units such as us.
const ReportColumns<FittedParameter>& parameter_columns() {
  using Parameter = FittedParameter;
  static const ReportColumns<Parameter> columns{
      {"name", {"parameter"}, Quantity::name(), &Parameter::name},
      table_only<Parameter>({"before",
                             {"in file"},
                             Quantity::count(),
                             [](const Parameter& parameter) {
                               return fit_number(parameter.before, parameter.unit);
                             }}),
      table_only<Parameter>(
          {"value",
           {"fitted"},
           Quantity::count(),
           [](const Parameter& parameter) { return fit_number(parameter.value, parameter.unit); }}),
      table_only<Parameter>(
          {"shown_unit",
           {"unit"},
           Quantity::name(),
           [](const Parameter& parameter) { return fit_unit_text(parameter.unit); }}),
      table_only<Parameter>({"interval", {"68 % interval"}, Quantity::count(), interval_text}),
      table_only<Parameter>({"uncertainty", {""}, Quantity::count(), uncertainty_text}),
      {"unit", &Parameter::unit},
      {"file", &Parameter::before},
      {"fit", &Parameter::value},
      {"low",
       [](const Parameter& parameter) { return bound_json(parameter.low, parameter.open_low); }},
      {"high",
       [](const Parameter& parameter) { return bound_json(parameter.high, parameter.open_high); }}};
  return columns;
}

// Lists the parameters that were not fitted, one paragraph per reason.
std::string unfitted_text(const FitReport& report) {
  constexpr std::pair<KeptBecause, const char*> reasons[]{
      {KeptBecause::no_trace, "the rows do not depend on them"},
      {KeptBecause::likeness, "the rows cannot tell them from fitted parameters"},
      {KeptBecause::no_gain, "they do not clearly improve predictions of held-out rows"},
  };
  std::string text;
  for (const auto& [reason, words] : reasons) {
    std::string names;
    for (const KeptParameter& parameter : report.kept) {
      if (parameter.why != reason) continue;
      names += fmt::format("\n  {} = {}", printable(parameter.name),
                           parameter_text(parameter.value, parameter.unit));
      if (!parameter.like.empty())
        names += fmt::format(" (similar to {})", printable(parameter.like));
    }
    if (!names.empty()) text += fmt::format("not fitted, because {}:{}\n", words, names);
  }
  return text.empty() ? text : fmt::format("\n{}", text);
}

// Errors of the same rows with the file's values and with the fitted values.
struct ErrorComparison {
  std::string name;
  ErrorSummary before;
  ErrorSummary after;
};

std::string fit_percent_cell(double error) { return fmt::format("{:.1f}", 100 * error); }

std::string error_comparison_table(std::span<const ErrorComparison> lines) {
  using Line = ErrorComparison;
  using Errors = ErrorSummary Line::*;
  const auto error = [](Errors errors, const char* head, double ErrorSummary::*member) {
    const char* values = errors == &Line::before ? "file's" : "fitted";
    return ReportColumn<Line>(
        head, {values, head}, Quantity::each_as(fit_percent_cell),
        [errors, member](const Line& line) { return (line.*errors).*member; });
  };
  return table_text(
      ReportColumns<Line>{
          {"name", {"prediction errors"}, Quantity::name(), &Line::name},
          {"rows", {"rows"}, Quantity::count(), [](const Line& line) { return line.after.rows; }},
          error(&Line::before, "median %", &ErrorSummary::median),
          error(&Line::before, "p90 %", &ErrorSummary::p90),
          error(&Line::before, "bias %", &ErrorSummary::bias),
          error(&Line::after, "median %", &ErrorSummary::median),
          error(&Line::after, "p90 %", &ErrorSummary::p90),
          error(&Line::after, "max %", &ErrorSummary::largest),
          error(&Line::after, "bias %", &ErrorSummary::bias)},
      lines);
}

std::string error_table(const FitReport& report) {
  std::vector<ErrorComparison> lines;
  const bool has_held_out =
      std::ranges::any_of(report.after, [](const ComparedRow& row) { return row.held_out; });
  for (const bool held_out : {false, true})
    if (!held_out || has_held_out)
      lines.push_back({held_out ? "held-out rows" : "fitted rows",
                       errors_of(report.before, held_out), errors_of(report.after, held_out)});
  const std::vector<ComparedCurve> before = group_into_curves(report.before);
  const std::vector<ComparedCurve> after = group_into_curves(report.after);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const ErrorSummary errors = errors_of(after[i].rows, has_held_out);
    if (errors.rows != 0)
      lines.push_back({fmt::format("{}{}", has_held_out ? "held out: " : "", after[i].name),
                       errors_of(before[i].rows, has_held_out), errors});
  }
  return fmt::format("\n{}", error_comparison_table(lines));
}

// Table of the errors of held-out rows, as predicted by fits to the remaining rows.
std::string trial_table(const FitReport& report) {
  if (report.trials.empty()) return "";
  std::vector<ErrorComparison> lines;
  std::string lacking;
  std::string worse;
  for (const FitTrial& trial : report.trials) {
    if (trial.after.empty())
      lacking += fmt::format("{}: not held out, since {}\n", trial.way, trial.lacks);
    else
      lines.push_back({trial.way, summarize(trial.before), summarize(trial.after)});
    if (is_worse(trial))
      worse += fmt::format(
          "WORSE than the file: a fit without {} predicts it with a median error of {}, the file "
          "with {}\n",
          trial.way, format_percent(summarize(trial.after).median),
          format_percent(summarize(trial.before).median));
  }
  return fmt::format("\nheld-out rows, predicted by a fit to the other rows:\n{}{}{}",
                     lines.empty() ? "" : error_comparison_table(lines), lacking, worse);
}

std::string outlier_text(const FitReport& report) {
  if (report.outliers.empty()) return "";
  std::string text = fmt::format(
      "\n{} {} off by more than 3 robust deviations ({}), with little weight in the fit:\n",
      report.outliers.size(), report.outliers.size() == 1 ? "row is" : "rows are",
      format_percent(3 * report.deviation));
  for (std::size_t i = 0; i < std::min(report.outliers.size(), max_outliers); ++i) {
    const ComparedRow& row = report.after[report.outliers[i]];
    text += fmt::format("  {}:{}: {}{} measured {}, predicted {}\n", printable(row.measured.file),
                        row.measured.line, format_exact_bytes(row.measured.bytes),
                        row.measured.in_place ? " in place" : "",
                        format_seconds(row.measured.seconds), format_seconds(row.predicted));
  }
  if (report.outliers.size() > max_outliers)
    text +=
        fmt::format("  and {} more (--json lists them)\n", report.outliers.size() - max_outliers);
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

Json error_comparison_json(std::span<const ComparedRow> before, std::span<const ComparedRow> after,
                           bool held_out) {
  return {{"file", errors_json(errors_of(before, held_out))},
          {"fit", errors_json(errors_of(after, held_out))}};
}

std::string_view reason_word(KeptBecause reason) {
  constexpr std::array<std::string_view, 3> words{"no_trace", "likeness", "no_gain"};
  return words[static_cast<std::size_t>(reason)];
}

const ReportColumns<KeptParameter>& unfitted_columns() {
  using Parameter = KeptParameter;
  static const ReportColumns<Parameter> columns{
      {"name", &Parameter::name},
      {"unit", &Parameter::unit},
      {"value", &Parameter::value},
      {"why", [](const Parameter& parameter) { return reason_word(parameter.why); }},
      {"like", [](const Parameter& parameter) {
         return parameter.like.empty() ? Json() : Json(parameter.like);
       }}};
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
  return fmt::format("{}{}", fit_number(value, unit), unit == "s" ? " us" : "");
}

std::string interval_text(const FittedParameter& parameter) {
  if (parameter.open_low && parameter.open_high) return "any value";
  if (parameter.open_low)
    return fmt::format("at most {}", fit_number(parameter.high, parameter.unit));
  if (parameter.open_high)
    return fmt::format("at least {}", fit_number(parameter.low, parameter.unit));
  return fmt::format("{} to {}", fit_number(parameter.low, parameter.unit),
                     fit_number(parameter.high, parameter.unit));
}

ErrorSummary errors_of(std::span<const ComparedRow> rows, bool held_out) {
  std::vector<ComparedRow> selected;
  for (const ComparedRow& row : rows)
    if (row.held_out == held_out) selected.push_back(row);
  return summarize(selected);
}

bool is_worse(const FitTrial& trial) {
  constexpr double max_ratio = 1.05;
  constexpr double max_excess = 0.001;
  return summarize(trial.after).median > max_ratio * summarize(trial.before).median + max_excess;
}

std::string fit_text(const FitReport& report) {
  const auto held_out = static_cast<std::size_t>(
      std::ranges::count_if(report.after, [](const ComparedRow& row) { return row.held_out; }));
  std::string text = fmt::format("{} fitted to {} rows of {} {}{}\n\n", printable(report.cluster),
                                 report.after.size() - held_out, report.files.size(),
                                 report.files.size() == 1 ? "log" : "logs",
                                 held_out == 0 ? "" : fmt::format(", {} more held out", held_out));
  text += report.fitted.empty() ? "no parameter clearly improves predictions of held-out rows\n"
                                : table_text(parameter_columns(), report.fitted);
  for (const FittedParameter& parameter : report.fitted)
    if (is_far(parameter))
      text += fmt::format(
          "\n{} is far from the file's value: it may make up for something that the file lacks, "
          "and\n"
          "mislead predictions of other operations and numbers of ranks\n",
          printable(parameter.name));
  for (const Likeness& pair : report.alike)
    text += fmt::format(
        "\nthe rows hardly tell {} from {} (correlation {:.2f}): their combined\n"
        "effect is known better than either value\n",
        printable(pair.first), printable(pair.second), pair.correlation);
  if (report.keeps_expectations && !report.fitted.empty())
    text +=
        "\nAlgorithms and protocols are still chosen with the values in the file (properties "
        "expected.*),\n"
        "which matches the rows better than a choice with the fitted values.\n";
  return text + error_table(report) + trial_table(report) + outlier_text(report) +
         unfitted_text(report);
}

std::string fit_json(const FitReport& report) {
  Json json;
  json["cluster"] = report.cluster;
  json["logs"] = report.files;
  json["parameters"] = json_rows(parameter_columns(), report.fitted);
  json["keeps_expectations"] = report.keeps_expectations;
  const ReportColumns<Likeness> alike{{"one", &Likeness::first},
                                      {"other", &Likeness::second},
                                      {"correlation", &Likeness::correlation}};
  json["alike"] = json_rows(alike, report.alike);
  json["kept"] = json_rows(unfitted_columns(), report.kept);
  json["robust_deviation"] = report.deviation;
  json["errors"] = {{"fitted", error_comparison_json(report.before, report.after, false)},
                    {"held_out", error_comparison_json(report.before, report.after, true)}};
  json["trials"] = Json::array();
  for (const FitTrial& trial : report.trials)
    json["trials"].push_back({{"held_out", trial.way},
                              {"lacks", trial.lacks.empty() ? Json() : Json(trial.lacks)},
                              {"file", errors_json(summarize(trial.before))},
                              {"fit", errors_json(summarize(trial.after))},
                              {"worse", is_worse(trial)}});
  json["curves"] = Json::array();
  const std::vector<ComparedCurve> before = group_into_curves(report.before);
  const std::vector<ComparedCurve> after = group_into_curves(report.after);
  for (std::size_t i = 0; i < after.size(); ++i)
    json["curves"].push_back(
        {{"name", after[i].name},
         {"fitted", error_comparison_json(before[i].rows, after[i].rows, false)},
         {"held_out", error_comparison_json(before[i].rows, after[i].rows, true)}});
  json["outliers"] = Json::array();
  for (const std::size_t row : report.outliers)
    json["outliers"].push_back(json_object(outlier_columns(), report.after[row]));
  return json_document(json);
}

}  // namespace pipewright::analysis
