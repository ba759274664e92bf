#pragma once

#include "sim/config/huggingface/config.hpp"
#include "sim/config/huggingface/family.hpp"
#include "sim/config/huggingface/shape.hpp"

namespace pipewright::config::huggingface {

// What each layer is: how many there are, which have a sliding window, a gated delta net or Mamba-2
// in place of attention over all keys, and which have experts. Layers that follow a rule are told
// by it (first_dense, every, full_attention_every), so that their number can be changed, others by
// a pattern.
struct Layout {
  bool mlps = false;
  bool experts = false;
  bool attention = false;
  bool linear = false;
  bool mamba = false;
};

Layout add_layout(Config& config, const Family& family, Shape& shape);

}  // namespace pipewright::config::huggingface
