#pragma once

#include <cstdint>
#include <string_view>

#include "sim/config/huggingface/config.hpp"

namespace pipewright::config::huggingface {

// What the models of a model_type have that their config.json does not say, or not always: the
// defaults of transformers' configuration_*.py, and what its modeling_*.py does in any case.
struct Family {
  enum class Layers : std::uint8_t {
    transformer,  // attention and an MLP or experts
    linear,       // of which some have a gated delta net in place of attention
    hybrid,       // by a pattern of Mamba-2, attention, MLPs and experts
    mamba,        // Mamba-2 alone
  };

  std::string_view type;
  Layers layers = Layers::transformer;
  bool gated = true;
  bool layernorm = false;  // else RMSNorm
  bool tied = false;
  bool learned_positions = false;
  bool qk_norm = false;
  bool output_gate = false;
  bool post_norms = false;
  // What a matrix has in any case, and what attention_bias: true means, in the words of our key.
  std::string_view biases = "false";
  std::string_view attention_bias = "attention";
  bool expert_is_ffn = false;  // intermediate_size is an expert's
  // Of what a config leaves out; 0: it has to say, and head_dim is hidden / heads.
  std::uint32_t vocabulary = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  // Sliding windows: their size; one layer in so many without (0: all have one); whether
  // use_sliding_window: true has to ask for them, from layer max_window_layers on.
  std::uint32_t window = 0;
  std::uint32_t full_every = 0;
  bool window_is_asked_for = false;
};

// By model_type, with or without "_text" at its end. Throws an Error that lists what is understood.
const Family& family_of(Config& config);

}  // namespace pipewright::config::huggingface
