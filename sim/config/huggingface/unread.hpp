#pragma once

#include "sim/config/huggingface/config.hpp"

namespace pipewright::config::huggingface {

// Throws an Error at a key that was not read, has a value, and by its name may affect time or
// memory. Other unread keys are ignored, such as those of text generation, initialization and
// rotary positions.
void check_unread(const Config& config);

}  // namespace pipewright::config::huggingface
