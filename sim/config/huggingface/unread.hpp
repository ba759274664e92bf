#pragma once

#include <string_view>
#include <vector>

#include "sim/config/huggingface/config.hpp"

namespace pipewright::config::huggingface {

// Returns whether a value disables what its key stands for: false, null, 0, "" or an empty
// container.
bool is_off(const Value& value);

// Throws an Error if a key of config.json was not read although its name suggests that it affects
// time or memory, unless its value disables it.
void check_unread(const Config& config);

// Returns the other keys that were not read, except those that are known to affect neither time nor
// memory, such as those of text generation, initialization and rotary positions.
std::vector<std::string_view> unknown_keys(const Config& config);

}  // namespace pipewright::config::huggingface
