#pragma once

#include <string_view>

#include "sim/config/value.hpp"

namespace pipewright::config {

// Puts `value` at a dotted path such as "schedule.chunks", in place of what was there; maps on
// the way are made. A list is entered by index from 0, as in "schedule.0.chunks", and does not
// grow.
void set_value(Value& root, std::string_view path, Value value);

}  // namespace pipewright::config
