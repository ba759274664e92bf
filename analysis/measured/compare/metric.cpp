#include "analysis/measured/compare/metric.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr double tera = 1e12;

std::string_view without_unit(std::string_view name) {
  for (const std::string_view unit : {"_s", "_bytes"})
    if (name.ends_with(unit) && !name.ends_with("_per_s"))
      return name.substr(0, name.size() - unit.size());
  return name;
}

// Removes the leading blanks by which tables show that a metric is part of another.
std::string_view unindented(std::string_view label) {
  return label.substr(std::min(label.size(), label.find_first_not_of(' ')));
}

// Numbers below 0.1 get two significant digits, so that only 0 is printed as 0.
std::string signed_number(double value) {
  if (value == 0) return "0";
  return std::abs(value) >= 0.1 ? fmt::format("{:+.1f}", value) : fmt::format("{:+.2g}", value);
}

// Returns the Levenshtein distance of two texts: the smallest number of insertions, deletions and
// replacements of characters that turn one into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j)
      diagonal = std::exchange(
          row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, diagonal + (a[i] == b[j] ? 0U : 1U)}));
  }
  return row.back();
}

}  // namespace

std::string format_value(MetricKind quantity, double value) {
  switch (quantity) {
    case MetricKind::seconds:
      return format_seconds(value);
    case MetricKind::bytes:
      return format_bytes(static_cast<std::uint64_t>(value));
    case MetricKind::ratio:
      return format_percent(value);
    case MetricKind::samples_per_s:
      return format_rate(value, "samples");
    case MetricKind::tokens_per_s:
      return format_rate(value, "tokens");
    case MetricKind::flops:
      return fmt::format("{:.1f} TFLOP/s", value / tera);
    case MetricKind::count:
      return fmt::format("{:.4g}", value);
  }
  return {};
}

std::string format_difference(MetricKind quantity, double base, double value) {
  const double change = difference(base, value);
  if (quantity == MetricKind::ratio) return signed_number(100 * change) + " pp";
  if (quantity == MetricKind::flops && change == 0) return "0 TFLOP/s";
  const std::string sign = change < 0 ? "-" : change > 0 ? "+" : "";
  return sign + format_value(quantity, std::abs(change));
}

std::string format_change(double base, double value) {
  const double change = relative_change(base, value);
  return std::isfinite(change) ? signed_number(100 * change) + " %" : "-";
}

double difference(double base, double value) {
  constexpr double rounding = 1e-9;
  const double change = value - base;
  return std::abs(change) < rounding * std::max(std::abs(base), std::abs(value)) ? 0 : change;
}

double relative_change(double base, double value) {
  const double change = difference(base, value);
  if (change == 0) return 0;
  if (base == 0) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return change / std::abs(base);
}

const Metric* find_metric(const Metrics& metrics, std::string_view name) {
  for (const Metric& metric : metrics)
    if (metric.name == name) return &metric;
  for (const Metric& metric : metrics)
    if (without_unit(metric.name) == name) return &metric;
  const Metric* match = nullptr;
  for (const Metric& metric : metrics) {
    if (unindented(metric.label) != name) continue;
    if (metric.value) return &metric;
    if (match == nullptr) match = &metric;
  }
  return match;
}

std::string nearest_name(const Metrics& metrics, std::string_view name) {
  constexpr std::size_t max_length = 100;  // the cost of the distance is quadratic
  if (name.size() > max_length) return {};
  std::size_t nearest = 1 + std::min<std::size_t>(3, name.size() / 3);
  std::string_view best;
  for (const Metric& metric : metrics)
    for (const std::string_view candidate :
         {without_unit(metric.name), std::string_view(metric.name), unindented(metric.label)}) {
      const std::size_t distance = edit_distance(name, candidate);
      if (distance >= nearest) continue;
      nearest = distance;
      best = candidate;
    }
  // Measured runs have no makespan; suggest their iteration time instead.
  if (best.empty() && (name == "time" || name.starts_with("makespan")))
    if (const Metric* const iteration = find_metric(metrics, "iteration")) best = iteration->name;
  return std::string(best);
}

Json metrics_json(const Metrics& metrics) {
  Json json = Json::object();
  for (const Metric& metric : metrics)
    json[metric.name] = metric.value ? Json(*metric.value) : Json(nullptr);
  return json;
}

Json differences_json(const Metrics& base, const Metrics& run) {
  Json json = Json::object();
  for (const Metric& metric : run) {
    const Metric* const first = find_metric(base, metric.name);
    if (!metric.value || first == nullptr || !first->value) continue;
    json[metric.name] = {{"difference", difference(*first->value, *metric.value)},
                         {"change", relative_change(*first->value, *metric.value)}};
  }
  return json;
}

}  // namespace pipewright::analysis
