#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::config {

// The shape of a transformer. Where a key is left out its usual value is filled in by the reader,
// so every number here can be used as it stands.
struct Model {
  enum class Norm : std::uint8_t { layernorm, rmsnorm };
  // Matrices that have a bias: none, all, those of queries, keys and values, or attention's.
  enum class Biases : std::uint8_t { none, all, qkv, attention };

  // Attention whose keys and values come from a compressed vector (DeepSeek-V2, arXiv 2405.04434).
  struct Latent {
    std::uint32_t query_rank = 0;  // 0: queries are not compressed
    std::uint32_t kv_rank = 0;
    std::uint32_t nope_head_dim = 0;
    std::uint32_t rope_head_dim = 0;
    std::uint32_t value_head_dim = 0;
  };
  // Feed-forward layers of experts, of which each token visits `top_k` and all shared ones.
  struct Experts {
    std::uint32_t count = 0;
    std::uint32_t top_k = 1;
    std::uint32_t shared = 0;
    std::uint32_t ffn = 0;          // hidden size of one expert
    std::uint32_t shared_ffn = 0;   // of one shared expert
    std::uint32_t latent = 0;       // what experts take and give in place of `hidden`; 0: hidden
    std::uint32_t groups = 1;       // of experts, for routing that is limited to some of them
    std::uint32_t top_groups = 0;   // of them that a token's experts are of; 0: all
    double capacity_factor = 1;     // the busiest expert's tokens over the mean
    std::uint32_t first_dense = 0;  // so many layers at the start have a dense MLP
    std::uint32_t every = 1;        // then one layer in so many has experts
  };

  // Layers that hand a state of each head on along the sequence, in place of keys and values.
  struct Mamba {  // Mamba-2, arXiv 2405.21060
    std::uint32_t heads = 0;
    std::uint32_t head_dim = 64;
    std::uint32_t groups = 8;  // of heads that share B and C
    std::uint32_t state = 128;
    std::uint32_t conv = 4;  // tokens that the convolution before it sees
  };
  struct LinearAttention {  // a gated delta net, arXiv 2412.06464
    std::uint32_t key_heads = 0;
    std::uint32_t value_heads = 0;
    std::uint32_t key_head_dim = 128;
    std::uint32_t value_head_dim = 128;
    std::uint32_t conv = 4;
  };

  std::string name;
  std::uint32_t layers = 0;
  // Of a hybrid: of each layer a symbol of `layer_symbols`, where it is a mixer of tokens alone or
  // an MLP alone, or one of each kind, "GE". Empty: all are attention and an MLP, or experts.
  std::vector<std::string> pattern;
  std::uint32_t mtp_layers = 0;  // modules of multi-token prediction, each with one layer more
  std::uint32_t hidden = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t ffn = 0;
  bool gated = false;  // three matrices (SwiGLU), else two
  Norm norm = Norm::layernorm;
  bool post_norms = false;  // of what attention gives and the MLP gives, besides those before them
  Biases biases = Biases::all;
  bool qk_layernorm = false;  // norms of each head's queries and keys
  bool output_gate = false;   // attention's result is gated, by as many elements of the input
  double dropout = 0;         // > 0: masks are kept for the backward pass
  std::uint32_t vocabulary = 0;
  bool tied_embeddings = false;
  bool learned_positions = false;
  std::uint32_t sequence = 0;  // tokens of a sample
  // Each query of a layer with a window sees so many keys up to its own; 0: all of them. One layer
  // in `full_attention_every` has none; 0: all layers have one.
  std::uint32_t sliding_window = 0;
  std::uint32_t full_attention_every = 0;
  bool chunked = false;  // each query sees its own chunk of `sliding_window` tokens up to itself
  Located<double> published;  // parameters, as its authors count them; 0: unknown
  std::optional<Latent> latent;
  std::optional<Experts> experts;
  std::optional<Mamba> mamba;
  std::optional<LinearAttention> linear_attention;
  std::vector<std::string> notes;  // what a reader should know, a line each
  Origin origin;

  bool has_layers(char symbol) const {  // of the pattern
    return std::ranges::any_of(
        pattern, [&](const std::string& layer) { return layer.find(symbol) != std::string::npos; });
  }
  // Elements of a token that experts take and give.
  std::uint32_t expert_width() const {
    return experts && experts->latent > 0 ? experts->latent : hidden;
  }
};

// Those of Megatron-LM's --hybrid-layer-pattern, and S: attention with the model's sliding window.
namespace layer_symbols {
inline constexpr char mamba = 'M';
inline constexpr char linear_attention = 'G';
inline constexpr char attention = '*';
inline constexpr char sliding = 'S';
inline constexpr char latent = '+';
inline constexpr char mlp = '-';
inline constexpr char experts = 'E';
inline constexpr std::string_view mixers = "MG*S+";
inline constexpr std::string_view feed_forwards = "-E";
}  // namespace layer_symbols

}  // namespace pipewright::config
