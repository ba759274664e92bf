#pragma once

#include <optional>
#include <string_view>

#include "sim/jobs/python/value.hpp"

namespace pipewright::jobs::python {

// Calls a method of a string, list, set or dictionary. None if there is no such method here.
// `is_certain` is false below an unknown condition, where changes store unknown values.
std::optional<Value> call_method(const Value& receiver, std::string_view name,
                                 const Arguments& arguments, bool is_certain);

}  // namespace pipewright::jobs::python
