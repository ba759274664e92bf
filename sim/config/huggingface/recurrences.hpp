#pragma once

#include "sim/config/huggingface/config.hpp"
#include "sim/config/huggingface/family.hpp"
#include "sim/config/huggingface/layout.hpp"
#include "sim/config/huggingface/shape.hpp"

namespace pipewright::config::huggingface {

// Adds the sizes of the layers that are no attention: gated delta nets, Kimi delta attention,
// Mamba and short convolutions.
void add_recurrences(Config& config, const Family& family, const Layout& layout, Shape& shape);

}  // namespace pipewright::config::huggingface
