#pragma once

#include "sim/config/huggingface/config.hpp"
#include "sim/config/huggingface/layout.hpp"
#include "sim/config/huggingface/shape.hpp"

namespace pipewright::config::huggingface {

// Adds the layers that block_configs lists one by one (DeciLMForCausalLM: Nemotron Super and
// Ultra): attention, an MLP of a size of its own, or both. Layers with neither do nothing and are
// left out.
Layout add_blocks(Config& config, Shape& shape);

}  // namespace pipewright::config::huggingface
