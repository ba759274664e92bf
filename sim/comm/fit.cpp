#include "sim/comm/fit.hpp"

#include <algorithm>
#include <cmath>
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

constexpr std::size_t fewest_rows = 8;  // that tell anything but of themselves
constexpr double least_cost = 1e-12;
constexpr double least_time = 1e-12;  // seconds of what is predicted to cost nothing

// To what a platform file will say.
double rounded(double value) { return std::stod(fmt::format("{:.5e}", value)); }

class Fit {
 public:
  Fit(cluster::Cluster& cluster, std::span<const Measurement> rows, const FitOptions& options)
      : rows_(rows),
        options_(options),
        parameters_(options.named.empty() ? candidates(cluster, rows)
                                          : named_parameters(cluster, options.named)),
        predictor_(cluster, parameters_, rows),
        before_(predictor_.seconds({}, {})),
        by_(predictor_.protocols()) {
    for (const Parameter& parameter : parameters_) unknowns_.push_back(parameter.unknown());
    report_.cluster = cluster.name();
    std::set<std::string> seen;
    for (const Measurement& row : rows)
      if (seen.insert(row.file).second) report_.files.push_back(row.file);
  }

  FitReport run(cluster::Cluster& cluster, const std::vector<bool>& held_out) {
    std::vector<HeldOutWay> ways =
        options_.tries ? held_out_ways(rows_) : std::vector<HeldOutWay>{};
    fits_ = 1;
    for (const HeldOutWay& way : ways) fits_ += way.parts.size();
    for (const HeldOutWay& way : ways) report_.trials.push_back(trial(way));
    Outcome best = search(held_out);
    cluster.keep_expectations(best.keeps);
    report_.keeps_expectations = cluster.has_tuning_model();
    report(held_out, best);
    return std::move(report_);
  }

 private:
  // Which parameters, about which values, and whether NCCL goes on to choose by the file's numbers.
  struct Outcome {
    Selection best;
    bool keeps = false;
  };

  // NCCL chooses by its own numbers, so that a way that is slower than it takes it for is taken
  // nevertheless; or, as a simulated log has it, by those that are true.
  Outcome search(const std::vector<bool>& held_out) {
    look_at(held_out);
    Outcome found{.best = search_once(false), .keeps = false};
    Outcome by_file{.best = search_once(true), .keeps = true};
    constexpr double clearly = 2;
    if (by_file.best.score < found.best.score - clearly) found = std::move(by_file);
    predictor_.keep_expectations(found.keeps);
    ++fits_done_;
    return found;
  }

  Selection search_once(bool keeps) {
    predictor_.keep_expectations(keeps);
    if (!options_.named.empty()) return all_named();
    SelectionOptions options{.most = options_.most, .beyond = beyond_, .progress = {}};
    if (options_.progress)
      options.progress = [&](double share) { tell((share + (keeps ? 1 : 0)) / 2); };
    std::vector<Unknown> loaded;
    for (const std::size_t one : loaded_) loaded.push_back(unknowns_[one]);
    std::vector<std::size_t> names;
    const ChoiceResiduals residuals = [&](auto chosen, auto x) {
      names.clear();
      for (const std::size_t one : chosen) names.push_back(loaded_[one]);
      return misses(names, x);
    };
    Selection best = select(residuals, loaded, options);
    for (std::size_t& one : best.chosen) one = loaded_[one];
    return best;
  }

  Selection all_named() {
    std::vector<std::size_t> all(unknowns_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    Selection found = fit_chosen(residuals(), unknowns_, all);
    const auto rows = static_cast<double>(found.fit.residuals.size());
    found.score = rows * std::log(std::max(found.fit.cost, least_cost) / rows);
    return found;
  }

  // The rows that are fitted, what they can tell, and what can be held out of them.
  void look_at(const std::vector<bool>& held_out) {
    fitted_.clear();
    std::vector<Measurement> rows;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (!held_out[row]) {
        fitted_.push_back(row);
        rows.push_back(rows_[row]);
      }
    beyond_.clear();
    for (HeldOutWay& way : ways_beyond(rows)) beyond_.push_back(std::move(way.parts));
    weigh_file(rows);
    loaded_.clear();
    for (std::size_t one = 0; one < parameters_.size() && rows.size() >= fewest_rows; ++one)
      if (is_loaded(one)) loaded_.push_back(one);
  }

  // Neighbours on a curve miss the model alike: a curve counts as a few rows, and so the file
  // counts the more, the more rows a curve has.
  void weigh_file(std::span<const Measurement> rows) {
    constexpr double independent = 4;  // rows of a curve
    std::set<std::tuple<analysis::Operation, std::uint32_t, std::uint32_t>> curves;
    for (const Measurement& row : rows) curves.insert({row.operation, row.ranks, row.nodes});
    const double each = static_cast<double>(rows.size()) / static_cast<double>(curves.size());
    for (Unknown& one : unknowns_)
      one.times = options_.named.empty() ? std::max(1.0, each / independent) : 1;
  }

  // Whether a small change of it changes any of the rows by a fiftieth of that, and a class's
  // efficiency by half: bytes that are not what rows wait for say nothing of a link's rate. A
  // number that no row waits for would have to be far off before one does, and would then stand for
  // something else. What is not a protocol's own is told by rows that do not go by LL, which
  // hides most of each step: a launch that suits those alone misleads all others.
  bool is_loaded(std::size_t one) const {
    constexpr double step = 0.1;
    const std::string_view suffix = parameters_[one].info->suffix;
    const double least = suffix == "efficiency" ? 0.5 : 0.02;
    const bool of_protocol = suffix.starts_with("ll");
    for (const double aside : {step, -step}) {
      const double x =
          std::clamp(unknowns_[one].start + aside, unknowns_[one].least, unknowns_[one].most);
      const std::vector<std::size_t> chosen{one};
      const std::vector<double> values{parameters_[one].from_scale(x)};
      const std::vector<double> seconds = predictor_.seconds(chosen, values);
      for (const std::size_t row : fitted_)
        if ((of_protocol || by_[row] != cluster::Protocol::ll) &&
            std::abs(std::log(seconds[row] / before_[row])) > least * step)
          return true;
    }
    return false;
  }

  analysis::FitTrial trial(const HeldOutWay& way) {
    analysis::FitTrial found{.way = way.name, .lacks = way.lacks, .before = {}, .after = {}};
    for (const std::vector<bool>& held_out : way.parts) {
      if (std::ranges::find(held_out, false) == held_out.end()) continue;
      const Outcome outcome = search(held_out);
      const std::vector<double> after = predictor_.seconds(
          outcome.best.chosen, values_at(outcome.best.chosen, outcome.best.fit.unknowns));
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (!held_out[row]) continue;
        found.before.push_back({rows_[row], before_[row], {}, true});
        found.after.push_back({rows_[row], after[row], {}, true});
      }
    }
    return found;
  }

  void report(const std::vector<bool>& held_out, Outcome& outcome) {
    Selection& best = outcome.best;
    report_.before = compared(before_, held_out);
    best = refine(residuals(), unknowns_, best);
    // Where the plans are others at the numbers that were found, once more from there.
    constexpr int most_rounds = 3;
    for (int round = 0; round < most_rounds && !is_exact(best); ++round) {
      predictor_.plan_anew();
      predictor_.keep_expectations(outcome.keeps);
      best = refine(residuals(), unknowns_, best);
    }
    report_likeness(best);
    report_fitted(best);
    report_.after = compared(predictor_.exact_seconds(best.chosen, values_), held_out);
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

  void tell(double share) const {
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

  std::vector<double> misses(std::span<const std::size_t> chosen, std::span<const double> x) const {
    const std::vector<double> seconds = predictor_.seconds(chosen, values_at(chosen, x));
    std::vector<double> found;
    for (const std::size_t row : fitted_)
      found.push_back(std::log(std::max(seconds[row], least_time) / rows_[row].seconds));
    return found;
  }
  ChoiceResiduals residuals() const {
    return [this](auto chosen, auto x) { return misses(chosen, x); };
  }

  std::vector<ComparedRow> compared(std::span<const double> seconds,
                                    const std::vector<bool>& held_out) const {
    std::vector<ComparedRow> compared;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      compared.push_back({rows_[row], seconds[row], {}, held_out[row]});
    return compared;
  }

  // Intervals are those of a fit in which what the rows cannot tell from the chosen ones is free as
  // well: of numbers that are known only together, each may be what the other leaves it.
  void report_fitted(const Selection& best) {
    std::vector<std::size_t> free = best.chosen;
    free.insert(free.end(), alike_.begin(), alike_.end());
    std::vector<Unknown> unknowns;
    for (std::size_t i = 0; i < free.size(); ++i) {
      unknowns.push_back(unknowns_[free[i]]);
      if (i < best.chosen.size()) unknowns.back().start = best.fit.unknowns[i];
    }
    const Residuals of_free = [&](auto x) {
      tell(1);
      return misses(free, x);
    };
    const LeastSquares all = alike_.empty() ? best.fit : least_squares(of_free, unknowns);
    const std::vector<Interval> between = intervals(of_free, unknowns, all);
    for (std::size_t i = 0; i < best.chosen.size(); ++i) {
      const Parameter& parameter = parameters_[best.chosen[i]];
      const double x = best.fit.unknowns[i];
      const double value = rounded(parameter.from_scale(x));
      values_.push_back(value);
      report_.fitted.push_back({.name = parameter.name,
                                .unit = unit_of(parameter),
                                .before = parameter.value,
                                .value = value,
                                .low = parameter.from_scale(std::min(between[i].low, x)),
                                .high = parameter.from_scale(std::max(between[i].high, x)),
                                .open_low = between[i].low <= unknowns[i].least,
                                .open_high = between[i].high >= unknowns[i].most});
    }
  }

  void report_likeness(const Selection& best) {
    for (const auto& [one, other, correlation] : indistinct(best))
      report_.alike.push_back({parameters_[one].name, parameters_[other].name, correlation});
    constexpr std::size_t most_alike = 3;
    for (const Unchosen& one : look_at_unchosen(residuals(), unknowns_, best)) {
      const Parameter& parameter = parameters_[one.candidate];
      report_.kept.push_back({parameter.name, unit_of(parameter), parameter.value, one.why,
                              one.like ? parameters_[*one.like].name : ""});
      if (one.why == analysis::KeptBecause::likeness && alike_.size() < most_alike &&
          std::ranges::find(loaded_, one.candidate) != loaded_.end())
        alike_.push_back(one.candidate);
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
  const FitOptions& options_;
  std::vector<Parameter> parameters_;
  std::vector<Unknown> unknowns_;  // the parameters, in their scales
  RowPredictor predictor_;
  std::vector<double> before_;         // seconds of the rows by the file's numbers
  std::vector<cluster::Protocol> by_;  // of the rows
  std::vector<std::size_t> fitted_;    // rows of the fit that goes on
  std::vector<std::size_t> loaded_;    // parameters that bear on them
  std::vector<LeftOut> beyond_;        // of them
  std::vector<std::size_t> alike_;     // parameters that they cannot tell from the chosen ones
  std::vector<double> values_;         // of the chosen ones
  std::size_t fits_ = 1;
  std::size_t fits_done_ = 0;
  FitReport report_;
};

}  // namespace

FitReport fit(cluster::Cluster& cluster, std::span<const Measurement> rows,
              const std::vector<bool>& held_out, const FitOptions& options) {
  cluster.keep_expectations(false);
  return Fit(cluster, rows, options).run(cluster, held_out);
}

}  // namespace pipewright::comm
