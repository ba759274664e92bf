#include "analysis/compare/metric.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr double tera = 1e12;

std::string_view without_unit(std::string_view name) {
  for (const std::string_view unit : {"_s", "_bytes"})
    if (name.ends_with(unit) && !name.ends_with("_per_s"))
      return name.substr(0, name.size() - unit.size());
  return name;
}

}  // namespace

std::string format_value(Quantity quantity, double value) {
  switch (quantity) {
    case Quantity::seconds:
      return format_seconds(value);
    case Quantity::bytes:
      return format_bytes(static_cast<std::uint64_t>(value));
    case Quantity::ratio:
      return format_percent(value);
    case Quantity::samples_per_s:
      return format_rate(value, "samples");
    case Quantity::tokens_per_s:
      return format_rate(value, "tokens");
    case Quantity::flops:
      return fmt::format("{:.1f} TFLOP/s", value / tera);
    case Quantity::count:
      return fmt::format("{:.4g}", value);
  }
  return {};
}

std::string format_difference(Quantity quantity, double value) {
  if (quantity == Quantity::ratio) {
    const double tenths = std::round(1000 * value);
    return tenths == 0 ? "0 pp" : fmt::format("{:+.1f} pp", tenths / 10);
  }
  const std::string sign = value < 0 ? "-" : value > 0 ? "+" : "";
  return sign + format_value(quantity, std::abs(value));
}

std::string format_change(double base, double value) {
  const double change = relative_change(base, value);
  if (change == 0) return "0 %";
  if (!std::isfinite(change)) return "-";
  // Small changes keep two digits, so that none reads as zero.
  const double percent = 100 * change;
  if (std::abs(percent) >= 0.1) return fmt::format("{:+.1f} %", percent);
  return fmt::format("{:+.1g} %", percent);
}

double relative_change(double base, double value) {
  if (value == base) return 0;
  if (base == 0) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return (value - base) / std::abs(base);
}

const Metric* find_metric(const Metrics& metrics, std::string_view name) {
  for (const Metric& metric : metrics)
    if (metric.name == name) return &metric;
  for (const Metric& metric : metrics)
    if (without_unit(metric.name) == name) return &metric;
  return nullptr;
}

}  // namespace pipewright::analysis
