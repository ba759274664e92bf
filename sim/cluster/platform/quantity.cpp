#include "sim/cluster/platform/quantity.hpp"

#include <array>
#include <charconv>
#include <span>

namespace pipewright::cluster {
namespace {

struct Prefixes {
  double step;  // ratio of consecutive prefixes
  std::array<std::string_view, 8> names;
};
constexpr std::array prefixes{
    Prefixes{1000, {"k", "M", "G", "T", "P", "E", "Z", "Y"}},
    Prefixes{1024, {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"}},
    Prefixes{1000, {"kilo", "mega", "giga", "tera", "peta", "exa", "zeta", "yotta"}}};
constexpr std::span<const Prefixes> prefix_series(prefixes);

struct Unit {
  std::string_view name;
  double value;
  std::span<const Prefixes> prefixes = {};
};
constexpr std::array times{
    Unit{"s", 1},       Unit{"ms", 1e-3},        Unit{"us", 1e-6},
    Unit{"ns", 1e-9},   Unit{"ps", 1e-12},       Unit{"m", 60},
    Unit{"h", 60 * 60}, Unit{"d", 24 * 60 * 60}, Unit{"w", 7 * 24 * 60 * 60}};
constexpr std::array bandwidths{Unit{"Bps", 1, prefix_series.first(2)},
                                Unit{"bps", 0.125, prefix_series.first(2)}};
constexpr std::array speeds{Unit{"f", 1, prefix_series.first(1)},
                            Unit{"flops", 1, prefix_series.last(1)}};

std::span<const Unit> units_of(Quantity quantity) {
  if (quantity == Quantity::time) return times;
  if (quantity == Quantity::bandwidth) return bandwidths;
  return speeds;
}

std::optional<double> value_of(std::string_view unit, Quantity quantity) {
  for (const Unit& candidate : units_of(quantity)) {
    if (unit == candidate.name) return candidate.value;
    if (!unit.ends_with(candidate.name)) continue;
    const std::string_view prefix = unit.substr(0, unit.size() - candidate.name.size());
    for (const Prefixes& series : candidate.prefixes) {
      double value = candidate.value;
      for (const std::string_view name : series.names) {
        value *= series.step;
        if (name == prefix) return value;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_quantity(std::string_view text, Quantity quantity) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) return number;
  const std::optional<double> value = value_of(text, quantity);
  return value ? std::optional(number * *value) : std::nullopt;
}

}  // namespace pipewright::cluster
