#include "analysis/report/goodput/report.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "analysis/report/statistics.hpp"

namespace pipewright::analysis {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::optional<double> GoodputReport::tokens_a_day(double ratio) const {
  if (!tokens_per_iteration) return std::nullopt;
  return *tokens_per_iteration / iteration_s * 86400 * ratio;
}

GoodputBand band_of(const std::vector<double>& values) {
  return {mean_of(values), quantile(values, 0.05), quantile(values, 0.95)};
}

namespace {

// Mean of paired differences, and half of its 90 % range.
GoodputGain gain_of_differences(const std::vector<double>& differences) {
  constexpr double normal_quantile = 1.645;
  const double mean = mean_of(differences);
  const double deviation = standard_deviation(differences, mean);
  return {mean, normal_quantile * deviation / std::sqrt(static_cast<double>(differences.size()))};
}

}  // namespace

GoodputGain gain_of(const GoodputVariant& variant, const std::vector<GoodputOutcome>& outcomes) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(variant.ratios.size(), outcomes.size()); ++i)
    differences.push_back(variant.ratios[i] - outcomes[i].ratio());
  return gain_of_differences(differences);
}

std::size_t best_interval(const GoodputReport& report) {
  if (report.intervals.empty()) throw std::logic_error("no intervals were simulated");
  const auto best = std::ranges::max_element(
      report.intervals, {}, [](const GoodputVariant& variant) { return mean_of(variant.ratios); });
  return static_cast<std::size_t>(best - report.intervals.begin());
}

std::pair<double, double> best_interval_range(const GoodputReport& report) {
  const GoodputVariant& best = report.intervals[best_interval(report)];
  std::pair<double, double> range{best.interval_s, best.interval_s};
  for (const GoodputVariant& variant : report.intervals) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < std::min(best.ratios.size(), variant.ratios.size()); ++i)
      differences.push_back(best.ratios[i] - variant.ratios[i]);
    const GoodputGain loss = gain_of_differences(differences);
    // A single seed has no range.
    if (differences.size() < 2 || loss.mean > loss.half_width) continue;
    range.first = std::min(range.first, variant.interval_s);
    range.second = std::max(range.second, variant.interval_s);
  }
  return range;
}

std::size_t median_of(const std::vector<GoodputOutcome>& outcomes) {
  std::vector<std::size_t> order(outcomes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return outcomes[i].ratio(); });
  return order.at(order.size() / 2);
}

}  // namespace pipewright::analysis
