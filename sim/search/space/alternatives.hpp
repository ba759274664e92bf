#pragma once

#include <string>
#include <vector>

#include "sim/config/text/value.hpp"

namespace pipewright::search {

// {any_of: [..., ...]}
bool is_any_of(const config::Value& value);

// All values that one with lists, ranges and any_of in it stands for, without two that are the
// same; `key` is the canonical name of what it stands under. Throws config::Error.
std::vector<config::Value> alternatives(const config::Value& value, const std::string& key);

// The first of each that are the same but for where they were written.
std::vector<config::Value> without_repeats(std::vector<config::Value> values);

}  // namespace pipewright::search
