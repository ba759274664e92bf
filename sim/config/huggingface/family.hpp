#pragma once

#include <cstdint>
#include <string_view>

#include "sim/config/huggingface/config.hpp"

namespace pipewright::config::huggingface {

// Properties that all models of a model_type share and that their config.json may leave out:
// defaults of configuration_*.py and fixed choices of modeling_*.py in transformers.
struct Family {
  enum class Layers : std::uint8_t {
    transformer,  // attention and an MLP or experts
    linear,       // some layers have a gated delta net instead of attention
    hybrid,       // a pattern of Mamba-2, attention, MLPs and experts
    mamba,        // Mamba-2 only
    mixed,        // attention, Mamba or a short convolution, and an MLP or experts
    parallel,     // attention and Mamba-2 side by side, and an MLP
    kimi,         // latent attention or Kimi delta attention, and an MLP or experts
    compressed,   // compressed attention, and experts
    blocks,       // a list of layers with attention, an MLP of a size of its own, or both
  };

  std::string_view type;
  Layers layers = Layers::transformer;
  bool gated = true;
  bool layernorm = false;  // otherwise RMSNorm
  bool tied = false;
  bool learned_positions = false;
  bool qk_norm = false;
  bool output_gate = false;
  bool attention_sinks = false;
  bool indexer = false;           // latent attention with an indexer
  bool window_has_heads = false;  // layers with a window have other heads than those without
  bool post_norms = false;
  // Values of the key `biases` in model files: the family's default, and the value for models with
  // attention_bias: true.
  std::string_view biases = "false";
  std::string_view attention_bias = "attention";
  bool expert_is_ffn = false;  // intermediate_size is that of an expert
  bool shared_expert = false;  // layers of experts have a shared expert, of the size of the others
  bool mlp_is_shared = false;  // layers of experts have the MLP of intermediate_size, too
  bool single_is_mlp = false;  // a single expert is an MLP, without a router
  bool mamba_1 = false;
  bool mamba_norm = true;
  bool sparse_is_full = false;  // attention to chosen blocks of keys is read as that to all keys
  // Default values of keys that config.json leaves out. 0: the key is required; for head_dim:
  // hidden / heads.
  std::uint32_t vocabulary = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t window = 0;      // size of sliding windows
  std::uint32_t full_every = 0;  // period of layers without a window; 0: all layers have one
  // True: layers have windows only with use_sliding_window: true, and only from layer
  // max_window_layers on.
  bool window_is_optional = false;
};

// Finds the family by the config's model_type, with or without "_text" at its end. Throws an Error
// that lists the supported types.
const Family& family_of(Config& config);

}  // namespace pipewright::config::huggingface
