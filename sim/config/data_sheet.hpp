#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/numbers.hpp"
#include "sim/config/text/units.hpp"
#include "sim/config/text/value.hpp"

// Numbers of a GPU's map that its maker states, to which other numbers are in proportion.
namespace pipewright::config {

// Types whose products run at the same peak.
inline constexpr std::array<std::string_view, 3> eight_bits{"fp8", "fp8-block", "mxfp8"};

// Returns the quantity at a dotted path; nothing if there is none, or if it cannot be read, which
// the reader of the map reports.
template <auto parse>
std::optional<double> quantity_at(const Value& tree, const std::string& path) {
  const Value* const value = value_at(tree, path);
  if (value == nullptr || value->kind != Value::Kind::text) return std::nullopt;
  try {
    return static_cast<double>(parse(value->text, path, "a quantity"));
  } catch (const Error&) {
    return std::nullopt;
  }
}

inline std::optional<double> number_at(const Value& tree, const std::string& path) {
  const Value* const value = value_at(tree, path);
  return value == nullptr ? std::nullopt : base::parse_number<double>(value->text);
}

inline std::optional<double> flops_at(const Value& tree, const std::string& path) {
  return quantity_at<parse_flops>(tree, path);
}

struct DataSheet {
  std::optional<double> flops;   // FLOP/s in bf16
  std::optional<double> memory;  // bytes
  std::optional<double> processors;
  std::optional<double> power;  // watts

  explicit DataSheet(const Value& tree)
      : flops(flops_at(tree, "flops")),
        memory(quantity_at<parse_memory>(tree, "memory")),
        processors(number_at(tree, "processors")),
        power(quantity_at<parse_power>(tree, "power.compute")) {}
};

}  // namespace pipewright::config
