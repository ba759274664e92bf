#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/config/communication.hpp"
#include "sim/config/model.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/training.hpp"
#include "sim/workload/batch/expert_loads.hpp"
#include "sim/workload/shape/layer_kind.hpp"

// The parts of a transformer's layers on one GPU: matrices, attention, parameters.
namespace pipewright::workload {

// What of a microbatch, and of each layer, one GPU has after the cuts of a layout.
struct Sizes {
  double samples = 1;
  double sequence = 0;       // tokens of a sample
  double document = 0;       // of which so many at a time attend to each other
  double queries = 0;        // of them on this GPU: sequence / cp
  double tokens = 0;         // of the microbatch where ranks of tp work on all of each other's
  double spread_tokens = 0;  // in norms, dropouts and residuals: with sequence parallelism over tp
  std::uint32_t tp = 1;
  std::uint32_t cp = 1;
  config::ContextComm cp_comm = config::ContextComm::p2p;
  std::uint32_t cp_a2a = 1;  // ranks of cp that deal out heads
  config::ContextBalance cp_balance = config::ContextBalance::head_tail;
  std::uint32_t cp_ring() const { return cp / cp_a2a; }
  std::uint32_t ep = 1;
  std::uint32_t etp = 1;
  double imbalance = 1;       // tokens of the busiest rank of ep over the mean
  double most_imbalance = 1;  // for which it has memory
  bool sequence_parallel = false;
  // Bytes moved on a GPU besides for each element that sequence parallelism gathers, or sums up: a
  // result, or the gradient of what was gathered.
  double gathered_copy = 0;
  double summed_copy = 0;
  double summed_gradient_copy = 0;
  std::uint64_t vocabulary = 0;  // padded, over all ranks of tp, of one device where it is cut
  bool cuts_vocabulary = false;  // over the pipeline's devices
};

Sizes sizes_of(const config::Model& model, const config::Training& training,
               const config::Parallel& parallel, const config::Communication& communication = {});

// Tokens of a sample.
std::uint32_t sequence_of(const config::Model& model, const config::Training& training);

// By what the busiest rank of ep is drawn; none where all ranks' experts have as many tokens, or
// all of their buffers are filled.
std::optional<PowerLaw> power_law(const config::Model& model, const config::Training& training,
                                  const Sizes& sizes);

// Of a model that nothing is cut of.
Sizes uncut_sizes(const config::Model& model, double samples, double sequence);

// A model, how it is trained, and what of it one GPU has.
struct ModelSetting {
  const config::Model& model;
  const config::Training& training;
  Sizes sizes;
};

// The vocabulary padded so that each rank of tp has as much of it, a multiple of `multiple`.
std::uint64_t padded_vocabulary(std::uint32_t vocabulary, std::uint32_t multiple, std::uint32_t tp);

// What a kernel is a part of, in the order of a forward pass. Recomputation names some of them, as
// Megatron-LM's modules.
enum class Part : std::uint8_t {
  embedding,
  attention_norm,
  qkv,
  mla_down,
  mla_up,
  qk_norm,
  rotary,
  core_attention,
  projection,
  recurrence_in,  // of a Mamba-2 layer or a gated delta net
  convolution,
  recurrence,
  recurrence_norm,
  recurrence_out,
  post_norm,  // of what attention gives, or an MLP
  residual,   // each, with its dropout
  mlp_norm,
  mlp_in,
  activation,
  mlp_out,
  latent_in,
  router,
  permute,
  expert_in,
  expert_activation,
  expert_out,
  unpermute,
  latent_out,
  shared_in,
  shared_activation,
  shared_out,
  mtp_norm,  // of multi-token prediction: of the embedding, and of what comes in
  mtp_projection,
  head_norm,
  head,
  loss,
};
inline constexpr std::size_t part_count = 36;
std::string_view name_of(Part part);
// Where a product alone takes a norm's result, both are one module (Transformer Engine's
// LayerNormLinear): these norms are a part of it. Latent attention compresses twice, and a
// mixture's router, experts and shared experts take the same, so that theirs are parts of their
// own.
Part attention_norm_part(Mixer mixer);
Part mlp_norm_part(LayerKind kind);
constexpr bool is_of_experts(Part part) {
  return Part::expert_in <= part && part <= Part::expert_out;
}

// A matrix that all of the tokens go through: tokens x inputs times inputs x outputs.
struct Linear {
  Part part = Part::head;
  double tokens = 0;
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  std::uint32_t count = 1;  // so many such at once, on as many tokens each: experts
  // Sequence parallelism keeps what goes in (or what comes out) cut over tp, so that it is
  // gathered (or reduced and scattered) around the product.
  bool gathers_input = false;
  bool scatters_output = false;

  double flops() const {
    return 2 * tokens * static_cast<double>(inputs) * static_cast<double>(outputs) * count;
  }
};

// Attention of `heads` heads: softmax(Q K') V.
struct Attention {
  double samples = 0;
  double queries = 0;
  double keys = 0;
  std::uint32_t heads = 0;     // on this GPU
  std::uint32_t kv_heads = 0;  // likewise
  std::uint32_t key_dim = 0;
  std::uint32_t value_dim = 0;
  double window = 0;     // keys that a query sees of a sliding window,
  double windowed = 0;   // which so large a part of the layers has
  bool chunked = false;  // windows that begin together, one after the other, in place of sliding

  double scores() const { return samples * heads * queries * keys; }
  double flops() const { return 2 * scores() * (key_dim + value_dim); }  // of the whole square
  double tokens() const { return samples * queries; }
  // Elements of Q, K, V and of the result.
  double query_size() const { return tokens() * heads * key_dim; }
  double key_size() const { return tokens() * kv_heads * key_dim; }
  double value_size() const { return tokens() * kv_heads * value_dim; }
  double result_size() const { return tokens() * heads * value_dim; }
};

// Tokens' ways through experts. Ranks of tp hand out a part each of theirs; those that share an
// expert gather all that they got.
struct Routing {
  double sent = 0;      // tokens that one GPU hands out, each as often as it has experts
  double received = 0;  // tokens that the busiest GPU's experts work on, likewise
};

// Elements that an MLP's activation function makes and, of a gated one, the other half of what it
// takes.
struct Activation {
  double made = 0;
  double gates = 0;

  double all() const { return 2 * made + gates; }  // taken and made
};

// A layer that hands states on along the sequence, chunk by chunk of tokens, on one GPU: elements
// that a token has of each.
struct Recurrence {
  double tokens = 0;
  double taken = 0;     // what the first product gives
  double channels = 0;  // of them through the convolution
  double values = 0;    // of all heads, in and out
  double keys = 0;      // as the chunks' kernels read them: B, or keys
  double scores = 0;    // of a token with those of its chunk, of all groups or heads
  double states = 0;    // of a chunk, over its tokens
  double flops = 0;     // of products along the sequence

  double elements(double of_token) const { return tokens * of_token; }
};

struct Layer {
  Mixer mixer = Mixer::attention;
  Attention attention;    // without heads where the mixer is another
  Recurrence recurrence;  // likewise
  std::vector<Linear> attention_linears;
  std::vector<Linear> mlp_linears;     // dense or shared
  std::vector<Linear> expert_linears;  // and of experts, without the router
  std::vector<Linear> router;          // none or one
  std::vector<Linear> latent_linears;  // to what latent experts take, and back
  Routing routing;
  Activation mlp;  // of dense MLPs
  Activation shared;
  Activation experts;
  // Elements of latent attention's compressed vectors, and of those that norms go over.
  double compressed = 0;
  double compressed_norms = 0;

  bool has_recurrence() const { return mixer == Mixer::mamba || mixer == Mixer::linear; }
  bool has_attention() const { return mixer != Mixer::none && !has_recurrence(); }
};

Layer layer_on_gpu(const config::Model& model, LayerKind kind, const Sizes& sizes);

// What a module of multi-token prediction makes its layer's input with: the hidden state and the
// embedding of the token to come, side by side, go to one hidden state (DeepSeek-V3, arXiv
// 2412.19437, equation 21).
Linear mtp_projection(const config::Model& model, const Sizes& sizes);

// All products of a layer.
std::vector<Linear> linears_of(const Layer& layer);

// Parameters of one GPU.
struct Parameters {
  std::uint64_t dense = 0;
  std::uint64_t experts = 0;
  std::uint64_t vocabulary = 0;  // of the dense ones, which no recipe scales

  std::uint64_t all() const { return dense + experts; }
  Parameters& operator+=(const Parameters& other) {
    dense += other.dense;
    experts += other.experts;
    vocabulary += other.vocabulary;
    return *this;
  }
  bool operator==(const Parameters&) const = default;
};

// `sizes` gives tp, ep, etp and the padded vocabulary.
Parameters layer_parameters(const config::Model& model, LayerKind kind, const Sizes& sizes);
// Of a module of multi-token prediction: its projection, layer and three norms. Embedding and
// output matrix are the model's.
Parameters mtp_parameters(const config::Model& model, const Sizes& sizes);
std::uint64_t embedding_parameters(const config::Model& model, const Sizes& sizes);
std::uint64_t position_parameters(const config::Model& model, const Sizes& sizes);
// The last norm and, unless it is the embedding's own, the output matrix.
std::uint64_t head_parameters(const config::Model& model, const Sizes& sizes);

// Parameters of a model, as papers count them, nothing padded and nothing twice: all, and those
// that work on one token, of the experts top_k.
std::uint64_t parameter_count(const config::Model& model);
std::uint64_t active_parameter_count(const config::Model& model);

}  // namespace pipewright::workload
