#include "sim/config/text/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/numbers.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::config {
namespace {

// A unit and its ratio to the base unit, multiplier / divisor. Division keeps "18.5 ms" equal to
// 0.0185; a product with the inexact 1e-3 would not.
struct Unit {
  std::string_view symbol;  // "" stands for a bare number
  double multiplier = 1;
  double divisor = 1;
};

constexpr std::array time_units{
    Unit{""},
    Unit{"s"},
    Unit{"ms", 1, 1e3},
    Unit{"us", 1, 1e6},
    Unit{"\u00b5s", 1, 1e6},  // the micro sign
    Unit{"\u03bcs", 1, 1e6},  // the Greek letter
    Unit{"ns", 1, 1e9},
    Unit{"min", 60},
    Unit{"h", 3600},
    Unit{"d", 86400},
};
constexpr std::array size_units{
    Unit{""},
    Unit{"B"},
    Unit{"kB", 1e3},
    Unit{"MB", 1e6},
    Unit{"GB", 1e9},
    Unit{"TB", 1e12},
    Unit{"KiB", 0x1.0p+10},
    Unit{"MiB", 0x1.0p+20},
    Unit{"GiB", 0x1.0p+30},
    Unit{"TiB", 0x1.0p+40},
};
constexpr std::array flops_units{
    Unit{""}, Unit{"FLOP/s"}, Unit{"GFLOP/s", 1e9}, Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15},
};
constexpr std::array bandwidth_units{
    Unit{""},
    Unit{"B/s"},
    Unit{"MB/s", 1e6},
    Unit{"GB/s", 1e9},
    Unit{"TB/s", 1e12},
    Unit{"GiB/s", 0x1.0p+30},
    Unit{"TiB/s", 0x1.0p+40},
    Unit{"Gbit/s", 1e9, 8},
};
constexpr std::array power_units{Unit{""}, Unit{"W"}, Unit{"kW", 1e3}};
constexpr std::array share_units{Unit{"%", 1, 1e2}};
constexpr std::array number_units{Unit{""}};

struct Quantity {
  std::string_view name;
  std::string_view range;      // allowed values: "from 0 to 1 s, such as 0.5 ms"
  std::string_view unit_hint;  // added to the units that an error lists
  std::span<const Unit> units;
  double largest;
  double smallest = 0;
  std::string_view usual = {};  // unit that a bare number below `smallest` probably meant
};

constexpr double any_finite = 1.7976931348623157e308;
constexpr double largest_time = 1e9;  // seconds, 30 years; sums of passes stay within double
constexpr Quantity time_quantity{"time", "from 0 to 1e9 s, such as 18.5 ms",
                                 "a bare number is in seconds", time_units, largest_time};
// Quantities with upper limits: the time of a kernel or its launch, and the time of a pass.
constexpr Quantity kernel_time_quantity{
    "time", "from 0 to 10 ms, such as 5 us", "a bare number is in seconds", time_units, 10e-3, 0,
    "us"};
constexpr Quantity pass_time_quantity{
    "time", "from 0 to 1 s, such as 0.5 ms", "a bare number is in seconds", time_units, 1, 0, "ms"};
constexpr Quantity size_quantity{"size", "from 0 to 2^63 bytes, such as 24 MiB",
                                 "a bare number is in bytes", size_units, 0x1.0p+63};
// Quantities of a GPU, such as rates and memory, with limits far beyond those of real GPUs.
constexpr Quantity flops_quantity{"rate",
                                  "from 1 TFLOP/s to 1e6 TFLOP/s, such as 312 TFLOP/s",
                                  "a bare number is in FLOP/s",
                                  flops_units,
                                  1e18,
                                  1e12,
                                  "TFLOP/s"};
constexpr Quantity bandwidth_quantity{"bandwidth",
                                      "from 1 GB/s to 1e6 GB/s, such as 2039 GB/s",
                                      "a bare number is in bytes/s",
                                      bandwidth_units,
                                      1e15,
                                      1e9,
                                      "GB/s"};
constexpr Quantity storage_quantity{"rate",
                                    "from 1 MB/s to 1e6 GB/s, such as 40 GB/s",
                                    "a bare number is in bytes/s",
                                    bandwidth_units,
                                    1e15,
                                    1e6,
                                    "GB/s"};
constexpr Quantity memory_quantity{"size",
                                   "from 1 GiB to 1e6 GiB, such as 80 GiB",
                                   "a bare number is in bytes",
                                   size_units,
                                   1e6 * 0x1.0p+30,
                                   0x1.0p+30,
                                   "GiB"};
constexpr Quantity power_quantity{
    "power", "from 1 W to 10 kW, such as 700 W", "a bare number is in watts", power_units, 1e4, 1};
constexpr Quantity share_quantity{"share", "from 0 % to 100 %, such as 40 %",
                                  "a share is in percent", share_units, 1};
constexpr Quantity number_quantity{"number", "> 0, such as 3", "it is a bare number", number_units,
                                   any_finite};

constexpr std::string_view spaces = " \t";

// Wrong spellings of units, and the units they mean. Choosing the unit with the most similar
// letters could suggest a different one.
struct Spelling {
  std::string_view text;
  std::string_view symbol;
};
constexpr std::array spellings{
    Spelling{"sec", "s"},       Spelling{"secs", "s"},      Spelling{"second", "s"},
    Spelling{"seconds", "s"},   Spelling{"msec", "ms"},     Spelling{"usec", "us"},
    Spelling{"minutes", "min"}, Spelling{"hours", "h"},     Spelling{"Gbps", "Gbit/s"},
    Spelling{"Gb/s", "Gbit/s"}, Spelling{"gbps", "Gbit/s"}, Spelling{"Gbits/s", "Gbit/s"},
    Spelling{"GBps", "GB/s"},   Spelling{"MBps", "MB/s"},   Spelling{"TBps", "TB/s"},
};

std::string_view nearest_unit(const Quantity& quantity, std::string_view symbol,
                              const std::vector<std::string_view>& symbols) {
  const auto spelling = std::ranges::find(spellings, symbol, &Spelling::text);
  if (spelling != spellings.end() && std::ranges::count(symbols, spelling->symbol) > 0)
    return spelling->symbol;
  return quantity.usual.empty() ? std::string_view() : nearest_name(symbol, symbols);
}

Error wrong_quantity(const Subject& subject, std::string_view found, std::string_view noun,
                     std::string_view range) {
  return Error(subject.location, fmt::format("{} is {}", subject.name, found))
      .allow(fmt::format("{} {}", noun, range));
}

struct NumberAndUnit {
  std::string_view number;
  double value = 0;
  const Unit* unit = nullptr;
};

// Cuts "18.5 ms" into a number and a unit, without scaling the number.
NumberAndUnit split(const Quantity& quantity, std::string_view text, const Subject& subject,
                    std::string_view noun) {
  const char* const end = text.data() + text.size();
  NumberAndUnit result;
  const auto [rest, code] = std::from_chars(text.data(), end, result.value);
  if (code != std::errc{} || !std::isfinite(result.value) || result.value < 0)
    throw wrong_quantity(subject, describe_text(text), noun, quantity.range);
  result.value = std::abs(result.value);  // turns -0 into 0
  result.number = {text.data(), rest};

  std::string_view symbol(rest, end);
  symbol.remove_prefix(std::min(symbol.find_first_not_of(spaces), symbol.size()));
  for (const Unit& unit : quantity.units)
    if (unit.symbol == symbol) result.unit = &unit;
  if (result.unit == nullptr) {
    std::vector<std::string_view> symbols;
    for (const Unit& unit : quantity.units)
      if (!unit.symbol.empty()) symbols.push_back(unit.symbol);
    const std::string fault = symbol.empty() ? std::string(" without a unit")
                                             : fmt::format(", and {} is no unit of a {}",
                                                           in_quotes(symbol), quantity.name);
    const std::string units =
        symbols.empty() ? "without a unit" : fmt::format("in {}", fmt::join(symbols, ", "));
    throw wrong_quantity(subject, shown(text) + fault, noun,
                         fmt::format("{}; {} ({})", quantity.range, units, quantity.unit_hint))
        .suggest_name(nearest_unit(quantity, symbol, symbols));
  }
  return result;
}

// Throws an Error for a value outside of the limits. If it is a bare number, the message suggests
// the usual unit, in which it may have been meant.
void check_limits(const Quantity& quantity, const NumberAndUnit& parts, double value,
                  std::string_view text, const Subject& subject, std::string_view noun) {
  const auto is_within = [&](double number) {
    return number >= quantity.smallest && number <= quantity.largest;
  };
  if (is_within(value)) return;
  const auto usual = std::ranges::find(quantity.units, quantity.usual, &Unit::symbol);
  const bool lacks_unit = parts.unit->symbol.empty() && value >= 1 && !quantity.usual.empty() &&
                          is_within(parts.value * usual->multiplier / usual->divisor);
  if (!lacks_unit) throw wrong_quantity(subject, shown(text), noun, quantity.range);
  throw wrong_quantity(subject, fmt::format("{} ({})", shown(text), quantity.unit_hint), noun,
                       quantity.range)
      .suggest_name(fmt::format("{} {}", parts.number, quantity.usual));
}

double parse(const Quantity& quantity, std::string_view text, const Subject& subject,
             std::string_view noun) {
  const NumberAndUnit parts = split(quantity, text, subject, noun);
  const double value = parts.value * parts.unit->multiplier / parts.unit->divisor;
  check_limits(quantity, parts, value, text, subject, noun);
  return value;
}

// Computes the bytes of a whole number of units exactly; a double has only 53 bits. No value if the
// number is not whole or overflows.
std::optional<std::uint64_t> whole_bytes(const NumberAndUnit& parts) {
  const std::optional<std::uint64_t> count = base::parse_number<std::uint64_t>(parts.number);
  if (!count) return std::nullopt;
  const auto unit = static_cast<std::uint64_t>(parts.unit->multiplier);
  constexpr std::uint64_t largest = std::uint64_t{1} << 63;
  if (*count > largest / unit) return std::nullopt;
  return *count * unit;
}

std::uint64_t parse_bytes(const Quantity& quantity, std::string_view text, const Subject& subject,
                          std::string_view noun) {
  const NumberAndUnit parts = split(quantity, text, subject, noun);
  const auto exact = whole_bytes(parts);
  const double bytes = exact ? static_cast<double>(*exact) : parse(quantity, text, subject, noun);
  check_limits(quantity, parts, bytes, text, subject, noun);
  if (exact && bytes <= quantity.largest) return *exact;
  const bool is_fraction = parts.unit->multiplier == 1 && bytes != std::floor(bytes);
  // A number that overflowed above is rejected even if, as a double, it is rounded down to 2^63.
  const bool is_integer = parts.number.find_first_not_of("0123456789") == std::string_view::npos;
  if (is_fraction || (is_integer && bytes >= quantity.largest))
    throw wrong_quantity(subject, shown(text), noun,
                         is_fraction ? "in whole bytes, such as 24 MiB" : quantity.range);
  return static_cast<std::uint64_t>(std::round(bytes));
}

}  // namespace

double parse_time(std::string_view text, const Subject& subject, std::string_view noun) {
  return parse(time_quantity, text, subject, noun);
}

double parse_kernel_time(std::string_view text, const Subject& subject, std::string_view noun) {
  return parse(kernel_time_quantity, text, subject, noun);
}

double parse_pass_time(std::string_view text, const Subject& subject, std::string_view noun) {
  return parse(pass_time_quantity, text, subject, noun);
}

std::uint64_t parse_size(std::string_view text, const Subject& subject, std::string_view noun) {
  return parse_bytes(size_quantity, text, subject, noun);
}

std::uint64_t parse_memory(std::string_view text, const Subject& subject, std::string_view noun) {
  return parse_bytes(memory_quantity, text, subject, noun);
}

double parse_flops(std::string_view text, const Subject& subject, std::string_view noun) {
  return parse(flops_quantity, text, subject, noun);
}

double parse_bandwidth(std::string_view text, const Subject& subject, std::string_view noun) {
  return parse(bandwidth_quantity, text, subject, noun);
}

double parse_storage_rate(std::string_view text, const Subject& subject, std::string_view noun) {
  return parse(storage_quantity, text, subject, noun);
}

double parse_power(std::string_view text, const Subject& subject, std::string_view noun) {
  return parse(power_quantity, text, subject, noun);
}

double parse_share(std::string_view text, const Subject& subject, std::string_view noun) {
  return parse(share_quantity, text, subject, noun);
}

double parse_positive_number(std::string_view text, const Subject& subject, std::string_view noun) {
  const double value = parse(number_quantity, text, subject, noun);
  if (value == 0) throw wrong_quantity(subject, shown(text), noun, number_quantity.range);
  return value;
}

}  // namespace pipewright::config
