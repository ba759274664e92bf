#pragma once

#include <cstdint>

#include "sim/config/huggingface/config.hpp"
#include "sim/config/huggingface/shape.hpp"

namespace pipewright::config::huggingface {

// Adds the encoder of images of a vision model's config, and a note that a run has the encoder only
// with modules.vision. `text_hidden` is the hidden size of the language model. If the encoder is of
// an unknown kind or has keys that are not understood, a note says so, and the encoder is left out.
void add_vision(const Config& config, std::uint32_t text_hidden, Shape& shape);

}  // namespace pipewright::config::huggingface
