#include "sim/comm/fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/statistics.hpp"
#include "sim/comm/parameters.hpp"
#include "sim/comm/selection.hpp"
#include "sim/comm/uncertainty.hpp"

namespace pipewright::comm {
namespace {

using analysis::ComparedRow;
using analysis::FitReport;
using analysis::FittedParameter;
using analysis::Measurement;

std::string unit_of(const Parameter& parameter) {
  switch (parameter.info->unit) {
    case cluster::ParameterUnit::seconds:
      return "s";
    case cluster::ParameterUnit::ratio:
      return "ratio";
    case cluster::ParameterUnit::steps:
      return "steps";
  }
  throw std::logic_error("unknown unit of a parameter");
}

// Fewer rows determine a parameter only if the file is so far off that their scatter cannot explain
// its error.
constexpr std::size_t min_rows = 8;
constexpr double far_off = 0.3;
constexpr double min_cost = 1e-12;
constexpr double min_seconds = 1e-12;  // lower limit for predictions, in seconds

// Rounds to six digits, the precision of fitted values in platform files.
double round_to_file(double value) { return std::stod(fmt::format("{:.5e}", value)); }

class ParameterFit {
 public:
  ParameterFit(cluster::Cluster& cluster, std::span<const Measurement> rows,
               const FitOptions& options)
      : rows_(rows),
        options_(options),
        parameters_(options.names.empty() ? candidate_parameters(cluster, rows)
                                          : named_parameters(cluster, options.names)),
        predictor_(cluster, parameters_, rows),
        before_(predictor_.seconds({}, {})),
        protocols_(predictor_.protocols()) {
    for (const Parameter& parameter : parameters_) unknowns_.push_back(parameter.unknown());
    report_.cluster = cluster.name();
    std::set<std::string> seen;
    for (const Measurement& row : rows)
      if (seen.insert(row.file).second) report_.files.push_back(row.file);
  }

  FitReport run(cluster::Cluster& cluster, const std::vector<bool>& held_out) {
    std::vector<HoldOutScheme> schemes =
        options_.holds_out ? hold_out_schemes(rows_) : std::vector<HoldOutScheme>{};
    fits_ = 1;
    for (const HoldOutScheme& scheme : schemes) fits_ += scheme.parts.size();
    for (const HoldOutScheme& scheme : schemes) report_.trials.push_back(trial(scheme));
    Outcome best = search(held_out);
    cluster.freeze_expectations(best.is_frozen);
    report_.keeps_expectations = cluster.has_tuning_model();
    report(held_out, best);
    return std::move(report_);
  }

 private:
  // Result of a fit: the selected parameters with their values, and whether NCCL is assumed to
  // choose algorithms by the numbers of the platform file instead of the fitted ones.
  struct Outcome {
    Selection best;
    bool is_frozen = false;
  };

  // Fits under two assumptions about NCCL and returns the better fit: NCCL chooses by the file's
  // numbers, even if its choice is slower than expected; or by the fitted numbers, as in a
  // simulated log.
  Outcome search(const std::vector<bool>& held_out) {
    prepare(held_out);
    Outcome outcome{.best = search_once(false), .is_frozen = false};
    Outcome by_file{.best = search_once(true), .is_frozen = true};
    constexpr double min_gain = 2;
    if (by_file.best.score < outcome.best.score - min_gain) outcome = std::move(by_file);
    predictor_.freeze_expectations(outcome.is_frozen);
    ++fits_done_;
    return outcome;
  }

  Selection search_once(bool is_frozen) {
    predictor_.freeze_expectations(is_frozen);
    if (!options_.names.empty()) return select_named();
    SelectionOptions options{.max_parameters = options_.max_parameters,
                             .extrapolations = extrapolations_,
                             .progress = {}};
    if (options_.progress)
      options.progress = [&](double share) { report_progress((share + (is_frozen ? 1 : 0)) / 2); };
    std::vector<Unknown> relevant;
    for (const std::size_t index : relevant_) relevant.push_back(unknowns_[index]);
    std::vector<std::size_t> names;
    const ChoiceResiduals residuals = [&](auto chosen, auto x) {
      names.clear();
      for (const std::size_t index : chosen) names.push_back(relevant_[index]);
      return log_errors(names, x);
    };
    Selection best = select(residuals, relevant, options);
    for (std::size_t& index : best.chosen) index = relevant_[index];
    return best;
  }

  Selection select_named() {
    std::vector<std::size_t> indices(unknowns_.size());
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i;
    Selection selection = fit_chosen(residuals(), unknowns_, indices);
    const auto rows = static_cast<double>(selection.fit.residuals.size());
    selection.score = rows * std::log(std::max(selection.fit.cost, min_cost) / rows);
    return selection;
  }

  // Prepares a fit to the rows that are not held out: collects these rows, the parameters that they
  // depend on, and schemes that hold out parts of them.
  void prepare(const std::vector<bool>& held_out) {
    fitted_.clear();
    std::vector<Measurement> rows;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (!held_out[row]) {
        fitted_.push_back(row);
        rows.push_back(rows_[row]);
      }
    extrapolations_.clear();
    for (HoldOutScheme& scheme : extrapolation_schemes(rows))
      extrapolations_.push_back(std::move(scheme.parts));
    weigh_prior(rows);
    relevant_.clear();
    if (rows.size() < min_rows && median_error_of_file() < far_off) return;
    for (std::size_t index = 0; index < parameters_.size(); ++index)
      if (affects_rows(index)) relevant_.push_back(index);
  }

  // Median of the absolute errors of the file's numbers on the fitted rows.
  double median_error_of_file() const {
    std::vector<double> errors;
    for (const std::size_t row : fitted_)
      errors.push_back(std::abs(before_[row] / rows_[row].seconds - 1));
    if (errors.empty()) return 0;
    return analysis::quantile(std::move(errors), 0.5);
  }

  // Sets how many rows the file's values count as. Neighbouring rows of a curve have similar
  // residuals, so a curve counts as only a few rows, and the file counts more if curves have many
  // rows.
  void weigh_prior(std::span<const Measurement> rows) {
    constexpr double independent = 4;  // independent rows per curve
    std::set<std::tuple<analysis::Operation, std::uint32_t, std::uint32_t>> curves;
    for (const Measurement& row : rows) curves.insert({row.operation, row.ranks, row.nodes});
    const double rows_per_curve =
        static_cast<double>(rows.size()) / static_cast<double>(curves.size());
    for (Unknown& unknown : unknowns_)
      unknown.prior_rows = options_.names.empty() ? std::max(1.0, rows_per_curve / independent) : 1;
  }

  // Returns whether the rows depend on a parameter: a small change must change the time of some row
  // by 2 % of it, or by half of it for the efficiency of a link class, since transfers that rows do
  // not wait for reveal nothing about a link's rate. A parameter that affects no row could only be
  // fitted to an extreme value that represents something else. Parameters that do not belong to a
  // protocol must affect rows that do not use LL, because LL hides most of each step, and a launch
  // latency that fits only LL rows would mislead all others.
  bool affects_rows(std::size_t index) const {
    constexpr double step = 0.1;
    const std::string_view suffix = parameters_[index].info->suffix;
    const double threshold = suffix == "efficiency" ? 0.5 : 0.02;
    const bool is_protocol_parameter = suffix.starts_with("ll");
    for (const double shift : {step, -step}) {
      const double x = std::clamp(unknowns_[index].start + shift, unknowns_[index].minimum,
                                  unknowns_[index].maximum);
      const std::vector<std::size_t> chosen{index};
      const std::vector<double> values{parameters_[index].from_scale(x)};
      const std::vector<double> seconds = predictor_.seconds(chosen, values);
      for (const std::size_t row : fitted_)
        if ((is_protocol_parameter || protocols_[row] != cluster::Protocol::ll) &&
            std::abs(std::log(seconds[row] / before_[row])) > threshold * step)
          return true;
    }
    return false;
  }

  analysis::FitTrial trial(const HoldOutScheme& scheme) {
    analysis::FitTrial trial_result{
        .way = scheme.name, .lacks = scheme.unavailable, .before = {}, .after = {}};
    for (const std::vector<bool>& held_out : scheme.parts) {
      if (std::ranges::find(held_out, false) == held_out.end()) continue;
      const Outcome outcome = search(held_out);
      const std::vector<double> after = predictor_.seconds(
          outcome.best.chosen, values_at(outcome.best.chosen, outcome.best.fit.unknowns));
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (!held_out[row]) continue;
        trial_result.before.push_back({rows_[row], before_[row], {}, true});
        trial_result.after.push_back({rows_[row], after[row], {}, true});
      }
    }
    return trial_result;
  }

  void report(const std::vector<bool>& held_out, Outcome& outcome) {
    Selection& best = outcome.best;
    report_.before = compared_rows(before_, held_out);
    best = refine(residuals(), unknowns_, best);
    // Plans the collectives again and repeats the fit if their plans change at the fitted values.
    constexpr int max_rounds = 3;
    for (int round = 0; round < max_rounds && !is_exact(best); ++round) {
      predictor_.replan();
      predictor_.freeze_expectations(outcome.is_frozen);
      best = refine(residuals(), unknowns_, best);
    }
    report_indistinct(best);
    report_fitted(best);
    report_.after = compared_rows(predictor_.exact_seconds(best.chosen, values_), held_out);
    report_outliers(best);
  }

  bool is_exact(const Selection& best) {
    const std::vector<double> values = values_at(best.chosen, best.fit.unknowns);
    const std::vector<double> quick = predictor_.seconds(best.chosen, values);
    const std::vector<double> exact = predictor_.exact_seconds(best.chosen, values);
    for (std::size_t row = 0; row < exact.size(); ++row)
      if (std::abs(std::log(quick[row] / exact[row])) > 1e-4) return false;
    return true;
  }

  void report_progress(double share) const {
    if (options_.progress)
      options_.progress((static_cast<double>(fits_done_) + share) / static_cast<double>(fits_));
  }

  std::vector<double> values_at(std::span<const std::size_t> chosen,
                                std::span<const double> x) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      values.push_back(parameters_[chosen[i]].from_scale(x[i]));
    return values;
  }

  std::vector<double> log_errors(std::span<const std::size_t> chosen,
                                 std::span<const double> x) const {
    const std::vector<double> seconds = predictor_.seconds(chosen, values_at(chosen, x));
    std::vector<double> errors;
    for (const std::size_t row : fitted_)
      errors.push_back(std::log(std::max(seconds[row], min_seconds) / rows_[row].seconds));
    return errors;
  }
  ChoiceResiduals residuals() const {
    return [this](auto chosen, auto x) { return log_errors(chosen, x); };
  }

  std::vector<ComparedRow> compared_rows(std::span<const double> seconds,
                                         const std::vector<bool>& held_out) const {
    std::vector<ComparedRow> compared_rows;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      compared_rows.push_back({rows_[row], seconds[row], {}, held_out[row]});
    return compared_rows;
  }

  // Adds the fitted parameters, with intervals, to the report. For the intervals, parameters whose
  // effects the rows cannot tell from those of the fitted ones vary too, so that parameters known
  // only in combination get wide intervals.
  void report_fitted(const Selection& best) {
    std::vector<std::size_t> free = best.chosen;
    free.insert(free.end(), indistinct_.begin(), indistinct_.end());
    std::vector<Unknown> unknowns;
    for (std::size_t i = 0; i < free.size(); ++i) {
      unknowns.push_back(unknowns_[free[i]]);
      if (i < best.chosen.size()) unknowns.back().start = best.fit.unknowns[i];
    }
    const Residuals free_residuals = [&](auto x) {
      report_progress(1);
      return log_errors(free, x);
    };
    const LeastSquares free_fit =
        indistinct_.empty() ? best.fit : least_squares(free_residuals, unknowns);
    const std::vector<Interval> between = intervals(free_residuals, unknowns, free_fit);
    for (std::size_t i = 0; i < best.chosen.size(); ++i) {
      const Parameter& parameter = parameters_[best.chosen[i]];
      const double x = best.fit.unknowns[i];
      const double value = round_to_file(parameter.from_scale(x));
      values_.push_back(value);
      report_.fitted.push_back({.name = parameter.name,
                                .unit = unit_of(parameter),
                                .before = parameter.value,
                                .value = value,
                                .low = parameter.from_scale(std::min(between[i].low, x)),
                                .high = parameter.from_scale(std::max(between[i].high, x)),
                                .open_low = between[i].low <= unknowns[i].minimum,
                                .open_high = between[i].high >= unknowns[i].maximum});
    }
  }

  void report_indistinct(const Selection& best) {
    for (const auto& [first, second, correlation] : find_indistinct(best))
      report_.alike.push_back({parameters_[first].name, parameters_[second].name, correlation});
    constexpr std::size_t max_indistinct = 3;
    for (const Unchosen& unchosen : explain_unchosen(residuals(), unknowns_, best)) {
      const Parameter& parameter = parameters_[unchosen.candidate];
      report_.kept.push_back({parameter.name, unit_of(parameter), parameter.value, unchosen.reason,
                              unchosen.nearest ? parameters_[*unchosen.nearest].name : ""});
      if (unchosen.reason == analysis::KeptBecause::likeness &&
          indistinct_.size() < max_indistinct &&
          std::ranges::find(relevant_, unchosen.candidate) != relevant_.end())
        indistinct_.push_back(unchosen.candidate);
    }
  }

  void report_outliers(const Selection& best) {
    report_.deviation = median_deviation(best.fit);
    constexpr double min_outlier = 0.05;
    const double max_error = std::max(3 * report_.deviation, min_outlier);
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (std::abs(std::log(report_.after[row].predicted / rows_[row].seconds)) > max_error)
        report_.outliers.push_back(row);
  }

  std::span<const Measurement> rows_;
  const FitOptions& options_;
  std::vector<Parameter> parameters_;
  std::vector<Unknown> unknowns_;  // parameters in their scales
  RowPredictor predictor_;
  std::vector<double> before_;  // predicted seconds of the rows with the file's numbers
  std::vector<cluster::Protocol> protocols_;  // protocol of each row
  std::vector<std::size_t> fitted_;           // rows of the current fit
  std::vector<std::size_t> relevant_;         // parameters that the rows depend on
  std::vector<HoldOutParts> extrapolations_;  // hold-out schemes within these rows
  std::vector<std::size_t> indistinct_;       // not distinguishable from the chosen ones
  std::vector<double> values_;                // values of the chosen parameters
  std::size_t fits_ = 1;
  std::size_t fits_done_ = 0;
  FitReport report_;
};

}  // namespace

FitReport fit(cluster::Cluster& cluster, std::span<const Measurement> rows,
              const std::vector<bool>& held_out, const FitOptions& options) {
  cluster.freeze_expectations(false);
  return ParameterFit(cluster, rows, options).run(cluster, held_out);
}

}  // namespace pipewright::comm
