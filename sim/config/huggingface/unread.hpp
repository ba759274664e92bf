#pragma once

#include "sim/config/huggingface/config.hpp"

namespace pipewright::config::huggingface {

// Returns whether a value disables what its key stands for: false, null, 0, "" or an empty
// container.
bool is_off(const Value& value);

// Throws an Error if a key of config.json was not read although its name suggests that it affects
// time or memory, unless its value disables it. Other unread keys are ignored, such as those of
// text generation, initialization and rotary positions.
void check_unread(const Config& config);

}  // namespace pipewright::config::huggingface
