#include "sim/comm/fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

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
  throw std::logic_error("a unit of parameters");
}

constexpr double least_cost = 1e-12;
constexpr double least_time = 1e-12;  // seconds of what is predicted to cost nothing

// To what a platform file will say.
double rounded(double value) { return std::stod(fmt::format("{:.5e}", value)); }

class Fit {
 public:
  Fit(cluster::Cluster& cluster, std::span<const Measurement> rows,
      const std::vector<bool>& held_out, const FitOptions& options)
      : rows_(rows),
        held_out_(held_out),
        options_(options),
        parameters_(options.named.empty() ? candidates(cluster, rows)
                                          : named_parameters(cluster, options.named)),
        predictor_(cluster, parameters_, rows) {
    for (const Parameter& parameter : parameters_) unknowns_.push_back(parameter.unknown());
    report_.cluster = cluster.name();
    std::set<std::string> seen;
    for (const Measurement& row : rows)
      if (seen.insert(row.file).second) report_.files.push_back(row.file);
  }

  // Which parameters, and about which values. Leaves the cluster as it was.
  Selection search() {
    const ChoiceResiduals residuals = [&](auto chosen, auto x) { return misses(chosen, x); };
    Selection best =
        options_.named.empty()
            ? select(residuals, unknowns_, {.most = options_.most, .progress = options_.progress})
            : all_named(residuals);
    predictor_.seconds({}, {});
    return best;
  }

  FitReport report(Selection best) {
    report_.before = compared(predictor_.seconds({}, {}));
    const ChoiceResiduals residuals = [&](auto chosen, auto x) { return misses(chosen, x); };
    best = refine(residuals, unknowns_, best);
    report_fitted(residuals, best);
    report_likeness(residuals, best);
    report_.after = compared(predictor_.seconds(best.chosen, values_));
    report_outliers(best);
    return std::move(report_);
  }

 private:
  std::vector<double> values_at(std::span<const std::size_t> chosen,
                                std::span<const double> x) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      values.push_back(parameters_[chosen[i]].from_scale(x[i]));
    return values;
  }

  std::vector<double> misses(std::span<const std::size_t> chosen, std::span<const double> x) {
    const std::vector<double> seconds = predictor_.seconds(chosen, values_at(chosen, x));
    std::vector<double> found;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (!held_out_[row])
        found.push_back(std::log(std::max(seconds[row], least_time) / rows_[row].seconds));
    return found;
  }

  Selection all_named(const ChoiceResiduals& residuals) const {
    std::vector<std::size_t> all(unknowns_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    Selection found = fit_chosen(residuals, unknowns_, all);
    const auto rows = static_cast<double>(found.fit.residuals.size());
    found.score = rows * std::log(std::max(found.fit.cost, least_cost) / rows);
    return found;
  }

  std::vector<ComparedRow> compared(std::span<const double> seconds) const {
    std::vector<ComparedRow> compared;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      compared.push_back({rows_[row], seconds[row], {}, held_out_[row]});
    return compared;
  }

  void report_fitted(const ChoiceResiduals& residuals, const Selection& best) {
    std::vector<Unknown> unknowns;
    for (const std::size_t one : best.chosen) unknowns.push_back(unknowns_[one]);
    const Residuals of_chosen = [&](auto x) {
      if (options_.progress) options_.progress(1);
      return residuals(best.chosen, x);
    };
    const std::vector<Interval> between = intervals(of_chosen, unknowns, best.fit);
    for (std::size_t i = 0; i < best.chosen.size(); ++i) {
      const Parameter& parameter = parameters_[best.chosen[i]];
      const double value = rounded(parameter.from_scale(best.fit.unknowns[i]));
      values_.push_back(value);
      report_.fitted.push_back({.name = parameter.name,
                                .unit = unit_of(parameter),
                                .before = parameter.value,
                                .value = value,
                                .low = parameter.from_scale(between[i].low),
                                .high = parameter.from_scale(between[i].high),
                                .open_low = between[i].low <= unknowns[i].least,
                                .open_high = between[i].high >= unknowns[i].most});
    }
  }

  void report_likeness(const ChoiceResiduals& residuals, const Selection& best) {
    for (const auto& [one, other, correlation] : indistinct(best))
      report_.alike.push_back({parameters_[one].name, parameters_[other].name, correlation});
    for (const Unchosen& one : look_at_unchosen(residuals, unknowns_, best)) {
      const Parameter& parameter = parameters_[one.candidate];
      report_.kept.push_back({parameter.name, unit_of(parameter), parameter.value, one.why,
                              one.like ? parameters_[*one.like].name : ""});
    }
  }

  void report_outliers(const Selection& best) {
    report_.deviation = median_deviation(best.fit);
    constexpr double least = 0.05;
    const double most = std::max(3 * report_.deviation, least);
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (std::abs(std::log(report_.after[row].predicted / rows_[row].seconds)) > most)
        report_.outliers.push_back(row);
  }

  std::span<const Measurement> rows_;
  const std::vector<bool>& held_out_;
  const FitOptions& options_;
  std::vector<Parameter> parameters_;
  std::vector<Unknown> unknowns_;  // the parameters, in their scales
  RowPredictor predictor_;
  std::vector<double> values_;  // of the chosen ones
  FitReport report_;
};

}  // namespace

std::vector<bool> held_out_rows(std::span<const Measurement> rows, HoldOut which) {
  std::vector<bool> held_out(rows.size(), false);
  if (which == HoldOut::none) return held_out;
  const auto curve = [](const Measurement& row) {
    return std::tuple(row.operation, row.ranks, row.nodes);
  };
  std::map<decltype(curve(rows[0])), std::set<std::uint64_t>> sizes;
  for (const Measurement& row : rows) sizes[curve(row)].insert(row.bytes);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& of_curve = sizes.at(curve(rows[i]));
    const auto place = std::distance(of_curve.begin(), of_curve.find(rows[i].bytes));
    held_out[i] = (place % 2 == 1) == (which == HoldOut::odd);
  }
  return held_out;
}

FitReport fit(cluster::Cluster& cluster, std::span<const Measurement> rows,
              const std::vector<bool>& held_out, const FitOptions& options) {
  // NCCL chooses by its own numbers, so that a way that is slower than it takes it for is taken
  // nevertheless; or, as a simulated log has it, by those that are true.
  const auto try_out = [&](bool keeps, double from) {
    cluster.keep_expectations(keeps);
    FitOptions one = options;
    if (options.progress)
      one.progress = [&options, from](double share) { options.progress(from + share / 2); };
    return Fit(cluster, rows, held_out, one).search();
  };
  Selection by_truth = try_out(false, 0);
  Selection by_file = try_out(true, 0.5);
  constexpr double clearly = 2;
  const bool keeps = by_file.score < by_truth.score - clearly;
  cluster.keep_expectations(keeps);
  FitOptions last = options;
  if (options.progress) last.progress = [&options](double) { options.progress(1); };
  FitReport report =
      Fit(cluster, rows, held_out, last).report(std::move(keeps ? by_file : by_truth));
  report.keeps_expectations = cluster.has_tuning_model();
  return report;
}

}  // namespace pipewright::comm
