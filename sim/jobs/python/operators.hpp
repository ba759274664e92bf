#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "sim/jobs/python/value.hpp"

namespace pipewright::jobs::python {

// Largest number of items of a list, and of characters of a text, that operators make.
inline constexpr std::size_t max_items = 1U << 20U;

// Results of operators on known values; none if an operand is unknown or not of a suitable type.
std::optional<Value> binary_operation(std::string_view operation, const Value& a, const Value& b);
std::optional<bool> comparison(std::string_view operation, const Value& a, const Value& b);

// Integer with this value, or the value itself if a double does not hold integers of its size
// exactly.
std::optional<Value> whole(double value);

}  // namespace pipewright::jobs::python
