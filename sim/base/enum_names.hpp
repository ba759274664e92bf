#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

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

// Returns the names of the values of an enumeration that are in a set, in their order.
template <std::size_t size>
std::vector<std::string_view> selected_names(const std::array<std::string_view, size>& names,
                                             const std::bitset<size>& selected) {
  std::vector<std::string_view> chosen;
  for (std::size_t value = 0; value < size; ++value)
    if (selected.test(value)) chosen.push_back(names[value]);
  return chosen;
}

}  // namespace pipewright::base
