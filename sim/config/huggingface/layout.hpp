#pragma once

#include "sim/config/huggingface/config.hpp"
#include "sim/config/huggingface/family.hpp"
#include "sim/config/huggingface/shape.hpp"

namespace pipewright::config::huggingface {

// Kinds of parts that occur in a model's layers.
struct Layout {
  bool mlps = false;
  bool experts = false;
  bool attention = false;
  bool windows = false;  // attention with a sliding window
  bool linear = false;
  bool mamba = false;
  bool convolutions = false;
};

// Adds the layers of a model to its shape: their number, and which of them have a sliding window, a
// gated delta net, Mamba, a short convolution or experts. Regular layers are expressed by
// first_dense, every and full_attention_every, so that their number can be changed, and all others
// by a pattern.
Layout add_layout(Config& config, const Family& family, Shape& shape);

}  // namespace pipewright::config::huggingface
