#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::config {

// Shape of a transformer: its layers and their sizes. The reader fills in keys that were left out,
// so all numbers can be used as they are.
struct Model {
  enum class Norm : std::uint8_t { layernorm, rmsnorm };
  // Matrices that have a bias: none, all, those of queries, keys and values, or those of attention.
  enum class Biases : std::uint8_t { none, all, qkv, attention };

  // Sizes of latent attention, which computes keys and values from a compressed vector
  // (DeepSeek-V2, arXiv 2405.04434).
  struct Latent {
    std::uint32_t query_rank = 0;  // 0: queries are not compressed
    std::uint32_t kv_rank = 0;
    std::uint32_t nope_head_dim = 0;
    std::uint32_t rope_head_dim = 0;
    std::uint32_t value_head_dim = 0;
  };
  // Sizes of the indexers, which choose the keys that a query of latent attention attends to
  // (DeepSeek-V3.2, arXiv 2512.02556, section 2.1), or the compressed keys.
  struct Indexer {
    // Keys whose scores the indexer learns: none, those that it chooses, or all.
    enum class Loss : std::uint8_t { none, chosen, all };
    std::uint32_t heads = 0;
    std::uint32_t head_dim = 128;
    std::uint32_t top_k = 0;  // keys per query; 0: all
    Loss loss = Loss::chosen;
  };
  // Attention of DeepSeek-V4 (arXiv 2606.19348): a query attends to a window and to compressed keys
  // before it. All heads share a key, which is the value, too. Queries and results go through
  // vectors of low rank, the results in groups of heads.
  struct Compressed {
    std::uint32_t query_rank = 0;
    std::uint32_t output_rank = 0;
    std::uint32_t output_groups = 1;
    std::uint32_t ratio = 4;          // tokens per compressed key of an indexer
    std::uint32_t heavy_ratio = 128;  // tokens per compressed key of layers without an indexer
  };
  // Heads of attention with a sliding window that differ from those of full attention.
  struct Heads {
    std::uint32_t heads = 0;
    std::uint32_t kv_heads = 0;
    std::uint32_t head_dim = 0;
    std::uint32_t value_head_dim = 0;
  };
  // A mixture of experts. Each token visits `top_k` routed experts and all shared experts.
  struct Experts {
    std::uint32_t count = 0;
    std::uint32_t top_k = 1;
    std::uint32_t shared = 0;
    std::uint32_t ffn = 0;         // hidden size of an expert
    std::uint32_t shared_ffn = 0;  // hidden size of a shared expert
    std::uint32_t latent = 0;      // input and output size of experts; 0: `hidden`
    std::uint32_t groups = 1;      // groups of experts, for group-limited routing
    std::uint32_t top_groups = 0;  // groups per token; 0: all
    // Tokens of the busiest expert, relative to the mean: experts drop tokens and pad their buffers
    // to this capacity. No value: experts drop nothing, and all have the mean.
    std::optional<double> capacity_factor;
    std::uint32_t first_dense = 0;  // dense layers at the start
    std::uint32_t every = 1;        // period of layers with experts after that
  };

  // Sizes of recurrent layers, which pass a state per head along the sequence instead of keys and
  // values.
  struct Mamba {  // Mamba-2, arXiv 2405.21060, or Mamba-1, arXiv 2312.00752
    std::uint32_t heads = 0;
    std::uint32_t head_dim = 64;
    std::uint32_t groups = 8;  // groups of heads that share B and C
    std::uint32_t state = 128;
    std::uint32_t conv = 4;  // width of the convolution in tokens
    // Mamba-1: rank of the product that gives each channel its step. 0: Mamba-2, with a step per
    // head.
    std::uint32_t step_rank = 0;
    // A norm of the result before the output projection; in Mamba-1 norms of the steps, B and C.
    bool norm = true;
  };
  struct LinearAttention {  // a gated delta net, arXiv 2412.06464
    std::uint32_t key_heads = 0;
    std::uint32_t value_heads = 0;
    std::uint32_t key_head_dim = 128;
    std::uint32_t value_head_dim = 128;
    std::uint32_t conv = 4;
    // Ranks of the products that give each channel of a key its decay, and of those of the output
    // gate, as in Kimi delta attention (arXiv 2510.26692). 0: a decay per head, and one matrix for
    // the gate.
    std::uint32_t decay_rank = 0;
    std::uint32_t gate_rank = 0;
  };
  // A convolution over a few tokens, with a gate before and after (LFM2, arXiv 2511.23404).
  struct ShortConvolution {
    std::uint32_t channels = 0;
    std::uint32_t width = 3;  // tokens
    bool bias = false;        // the convolution and both projections have biases
  };

  // An encoder of images (a vision transformer, ViT) and the projector that makes tokens of the
  // language model from its results. An image is cut into patches, whose attention has no causal
  // mask and stays within the image.
  struct Vision {
    // Products after the layers: `merge` x `merge` neighbouring patches become one token. With
    // `ffn`, the projector is an MLP of two matrices, else a single matrix.
    struct Projector {
      std::uint32_t ffn = 0;
      std::uint32_t merge = 2;
      // Patches are averaged before the product (Gemma), so that its input has the width of a
      // patch; otherwise they are concatenated.
      bool averages = false;
      // Projectors of this shape, whose results enter the language model at different layers (the
      // DeepStack of Qwen3-VL, arXiv 2511.21631); at least one.
      std::uint32_t count = 1;
    };
    std::uint32_t layers = 0;
    std::uint32_t hidden = 0;
    std::uint32_t heads = 0;
    std::uint32_t head_dim = 0;
    std::uint32_t ffn = 0;
    bool gated = false;
    Norm norm = Norm::layernorm;
    bool post_norms = false;
    Biases biases = Biases::all;
    bool qk_layernorm = false;
    bool rotary = false;            // rotary positions of patches in each layer
    std::uint32_t positions = 0;    // learned positions, which are added to the patches; 0: none
    std::uint32_t patch_size = 14;  // pixels of a patch's side
    std::uint32_t temporal_patch_size = 1;  // frames of a patch
    std::uint32_t channels = 3;
    // Patches of a window, which limits attention. Every `full_attention_every`-th layer has no
    // window. 0: all layers have none, or all layers have one.
    std::uint32_t window = 0;
    std::uint32_t full_attention_every = 0;
    Projector projector;

    // Number of elements of a patch.
    std::uint64_t patch_elements() const {
      return std::uint64_t{patch_size} * patch_size * temporal_patch_size * channels;
    }
    // Number of patches that become one token of the language model.
    std::uint32_t patches_per_token() const { return projector.merge * projector.merge; }
  };

  std::string name;
  std::uint32_t layers = 0;
  // Types of the layers of a hybrid model, one text per layer: a symbol of `layer_symbols` for a
  // layer that only mixes tokens or only has an MLP, or two symbols, "GE". Empty: every layer has
  // attention and an MLP or experts.
  std::vector<std::string> pattern;
  std::uint32_t mtp_layers = 0;  // modules of multi-token prediction, each with an additional layer
  bool mtp_use_repeated_layer = false;  // all these modules have the weights of the first
  std::uint32_t hidden = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;        // size of a head's queries and keys
  std::uint32_t value_head_dim = 0;  // 0: head_dim
  bool keys_as_values = false;       // full attention uses its keys as values, too
  std::uint32_t ffn = 0;             // the largest if MLPs differ
  // Hidden sizes of the MLPs, one for each layer with an MLP; empty: all have `ffn`. The sizes that
  // differ, from large to small, are mlp_sizes.
  std::vector<std::uint32_t> ffn_by_layer;
  std::vector<std::uint32_t> mlp_sizes;
  bool gated = false;  // three matrices (SwiGLU), else two
  Norm norm = Norm::layernorm;
  bool post_norms = false;  // additional norms after attention and MLP
  // Hidden states that a token has between layers. Above 1, hyper-connections mix them (arXiv
  // 2512.24880).
  std::uint32_t residual_streams = 1;
  Biases biases = Biases::all;
  bool qk_layernorm = false;  // norms of the queries and keys of each head
  bool output_gate = false;   // gate on the result of attention, with as many elements
  double dropout = 0;         // > 0: masks are kept for the backward pass
  std::uint32_t vocabulary = 0;
  bool tied_embeddings = false;
  bool learned_positions = false;
  std::uint32_t sequence = 0;  // tokens of a sample
  // Number of keys that a query attends to, including its own; 0: all keys. Every
  // `full_attention_every`-th layer has no such window; 0: all layers have one.
  std::uint32_t sliding_window = 0;
  std::uint32_t full_attention_every = 0;
  bool chunked = false;  // windows are chunks of `sliding_window` tokens
  // Attention with sinks: each head adds a learned number to the sum of its softmax.
  bool attention_sinks = false;
  Located<double> published;     // published number of parameters; 0: unknown
  std::optional<Heads> sliding;  // heads of layers with a sliding window; no value: the same
  std::optional<Latent> latent;
  std::optional<Indexer> indexer;
  std::optional<Compressed> compressed;
  std::optional<Experts> experts;
  std::optional<Mamba> mamba;
  std::optional<LinearAttention> linear_attention;
  std::optional<ShortConvolution> short_convolution;
  // Encoder of images, which a run has if the scenario has modules.vision.
  std::optional<Vision> vision;
  std::vector<std::string> notes;  // notes for the user, one per line
  Origin origin;

  // Returns whether any layer of the pattern has this symbol of `layer_symbols`.
  bool has_layers(char symbol) const {
    return std::ranges::any_of(
        pattern, [&](const std::string& layer) { return layer.find(symbol) != std::string::npos; });
  }
  // Size of a head's value in attention without a window of its own heads.
  std::uint32_t value_size() const { return value_head_dim > 0 ? value_head_dim : head_dim; }
  // Number of elements that a token has between layers.
  std::uint64_t residual_width() const { return std::uint64_t{residual_streams} * hidden; }
  // Number of elements that a token has at the input and output of experts.
  std::uint32_t expert_width() const {
    return experts && experts->latent > 0 ? experts->latent : hidden;
  }
};

// Names of a model's choices, in the order of their enumerations.
inline constexpr std::array<std::string_view, 2> norm_names{"layernorm", "rmsnorm"};
inline constexpr std::array<std::string_view, 4> bias_names{"false", "true", "qkv", "attention"};
inline constexpr std::array<std::string_view, 2> mlp_names{"gelu", "swiglu"};

// Symbols of Megatron-LM's --hybrid-layer-pattern, and S for attention with the sliding window, D
// for latent attention with an indexer, P for attention and Mamba side by side, C for a short
// convolution. Of compressed attention: W for a window alone, I for one with compressed keys that
// an indexer chooses, H for one with all of the heavily compressed keys.
namespace layer_symbols {
inline constexpr char mamba = 'M';
inline constexpr char linear_attention = 'G';
inline constexpr char attention = '*';
inline constexpr char sliding = 'S';
inline constexpr char latent = '+';
inline constexpr char indexed = 'D';
inline constexpr char window = 'W';
inline constexpr char compressed = 'I';
inline constexpr char heavily_compressed = 'H';
inline constexpr char parallel = 'P';
inline constexpr char short_convolution = 'C';
inline constexpr char mlp = '-';
inline constexpr char experts = 'E';
inline constexpr std::string_view mixers = "MG*S+DWIHPC";
inline constexpr std::string_view feed_forwards = "-E";
}  // namespace layer_symbols

}  // namespace pipewright::config
