#pragma once

#include "sim/config/huggingface/config.hpp"

namespace pipewright::config::huggingface {

// Throws an Error at a key that nothing has asked for, that is in use, and whose name speaks of
// what time or memory goes by. Other keys are passed by: those of generation, of initial values, of
// how positions turn, and all that a name tells nothing of.
void check_unread(const Config& config);

}  // namespace pipewright::config::huggingface
