#pragma once

#include "sim/config/huggingface/config.hpp"

namespace pipewright::config::huggingface {

// Throws an Error if a key of config.json was not read although its name suggests that it affects
// time or memory, unless its value disables it. Other unread keys are ignored, such as those of
// text generation, initialization and rotary positions.
void check_unread(const Config& config);

}  // namespace pipewright::config::huggingface
