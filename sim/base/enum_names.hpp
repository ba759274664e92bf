#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace pipewright::base {

// Returns the name of an enumeration's value. `names` has one name for each value, in their order.
// Throws std::out_of_range for a value without a name.
template <class Names, class Enum>
constexpr std::string_view name_of(const Names& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

// Returns the value of an enumeration that has this name in `names`, or nothing.
template <class Enum, class Names>
constexpr std::optional<Enum> value_of(const Names& names, std::string_view name) {
  const auto it = std::ranges::find(names, name);
  if (it == names.end()) return std::nullopt;
  return static_cast<Enum>(it - names.begin());
}

}  // namespace pipewright::base
