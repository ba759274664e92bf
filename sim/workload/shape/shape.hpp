#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/config/communication.hpp"
#include "sim/config/model.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/training.hpp"
#include "sim/workload/batch/expert_loads.hpp"
#include "sim/workload/shape/layer_kind.hpp"

// Describes the layers of a model on one GPU: weight matrices, attention, parameters.
namespace pipewright::workload {

// Sizes of a microbatch and of a layer on one GPU, after a parallel layout has split them.
struct Sizes {
  double samples = 1;
  double sequence = 0;   // tokens per sample
  double document = 0;   // tokens per document; attention stays within a document
  double documents = 0;  // mean number of documents that are packed into a microbatch; 0: none are
  double queries = 0;    // tokens of a sample on this GPU: sequence / cp
  // Tokens of a microbatch that go through tensor-parallel products, where all tp ranks work on the
  // same tokens.
  double tokens = 0;
  // Tokens of a microbatch that go through norms, dropouts and residuals, which sequence
  // parallelism splits over tp.
  double spread_tokens = 0;
  std::uint32_t tp = 1;
  std::uint32_t cp = 1;
  config::ContextComm cp_comm = config::ContextComm::p2p;
  std::uint32_t cp_a2a = 1;  // ranks of cp that exchange heads by all-to-all
  config::ContextBalance cp_balance = config::ContextBalance::head_tail;
  std::uint32_t cp_ring() const { return cp / cp_a2a; }
  std::uint32_t ep = 1;
  std::uint32_t etp = 1;
  double imbalance = 1;  // tokens of the busiest ep rank over the mean, which determines time
  // tokens of the busiest ep rank over the mean, which determines memory
  double peak_imbalance = 1;
  bool sequence_parallel = false;
  // Additional bytes that a GPU copies per element that sequence parallelism gathers or reduces:
  // for a gathered input, a reduced result, and the reduced gradient of a gathered input.
  double gathered_copy = 0;
  double summed_copy = 0;
  double summed_gradient_copy = 0;
  // Number of vocabulary entries, with padding: those of all tp ranks together, but only the part
  // of one pipeline device if cuts_vocabulary.
  std::uint64_t vocabulary = 0;
  bool cuts_vocabulary = false;        // the vocabulary is split over the pipeline's devices
  bool interlaces_vocabulary = false;  // no pass hides the collectives of the split vocabulary
  std::uint32_t barriers = 0;          // barriers of the split vocabulary
};

Sizes sizes_of(const config::Model& model, const config::Training& training,
               const config::Parallel& parallel, const config::Communication& communication = {});

// Tokens per sample.
std::uint32_t sequence_of(const config::Model& model, const config::Training& training);

// Returns the distribution of tokens over experts. Empty if the experts of all ranks get equally
// many tokens or if capacity_factor fills all of their buffers.
std::optional<RoutingLaw> routing_law(const config::Model& model, const config::Training& training,
                                      const Sizes& sizes);

// Returns the sizes of a model that is not split over GPUs.
Sizes uncut_sizes(const config::Model& model, double samples, double sequence);

// A model, its training, and its sizes on one GPU.
struct ModelSetting {
  const config::Model& model;
  const config::Training& training;
  Sizes sizes;
  // Layers for which training.precision has types of their own: those at the ends of the model that
  // stay in 16 bits, and those of multi-token prediction.
  bool is_in_16_bits = false;
  bool is_mtp = false;
};

// Returns the size of the vocabulary after padding: every tp rank gets the same number of entries,
// a multiple of `multiple`.
std::uint64_t padded_vocabulary(std::uint32_t vocabulary, std::uint32_t multiple, std::uint32_t tp);

// Part of the model that a kernel belongs to, in the order of a forward pass. Recomputation selects
// parts by the names of Megatron-LM's modules.
enum class Part : std::uint8_t {
  embedding,
  streams,  // hyper-connections: mixing of residual streams
  attention_norm,
  qkv,
  mla_down,
  mla_up,
  compressor,  // keys of several tokens
  indexer,
  qk_norm,
  rotary,
  index_scores,  // scores of an indexer, its choice of keys, and its loss
  core_attention,
  projection,
  recurrence_in,  // input projection of a Mamba-2 layer or a gated delta net
  convolution,
  recurrence,
  recurrence_norm,
  recurrence_out,
  post_norm,  // norm after attention or after the MLP
  residual,   // residual addition with its dropout
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
  mtp_norm,  // norms of multi-token prediction: of the embedding and of the hidden state
  mtp_projection,
  head_norm,
  head,
  loss,
  patch_embedding,  // in an encoder of images: elements of a patch become a hidden state
  projector_norm,
  projector_in,  // the projector's only matrix, or the first of two
  projector_activation,
  projector_out,
  image_tokens,  // tokens of images are inserted among those of the text
};
inline constexpr std::size_t part_count = 46;
std::string_view name_of(Part part);
// Returns the part that the norm before the mixer, or before the MLP, belongs to. If only one
// product consumes the result, norm and product are one module (Transformer Engine's
// LayerNormLinear), and the norm belongs to the part of the product. Latent attention consumes it
// in two down-projections, attention beside Mamba in both, and a mixture of experts in its router,
// experts and shared experts, so those norms are parts of their own.
Part attention_norm_part(Mixer mixer);
Part mlp_norm_part(LayerKind kind);
constexpr bool is_expert_part(Part part) {
  return Part::expert_in <= part && part <= Part::expert_out;
}

// Product of all tokens with a weight matrix: (tokens x inputs) times (inputs x outputs).
struct Linear {
  Part part = Part::head;
  double tokens = 0;
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  // Number of equal products that run side by side, one for each expert, each with `tokens` tokens.
  std::uint32_t count = 1;
  // Sequence parallelism splits the input (or output) over tp outside of the product, so it is
  // gathered before (or reduced and scattered after) the product.
  bool gathers_input = false;
  bool scatters_output = false;
  // The output is split over tp, and each rank gathers all of it: queries, keys and values where tp
  // is larger than the number of heads of keys and values (megatron/core/transformer/attention.py,
  // get_query_key_value_tensors).
  bool gathers_output = false;
  // Number of the outputs that are keys and values. Those of latent attention's product for keys
  // and values all count as keys.
  std::uint64_t keys = 0;
  std::uint64_t values = 0;

  double flops() const {
    return 2 * tokens * static_cast<double>(inputs) * static_cast<double>(outputs) * count;
  }
};

// Sizes of attention with `heads` heads on one GPU, which computes softmax(Q K') V.
struct Attention {
  double samples = 0;
  double queries = 0;
  double keys = 0;
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t key_dim = 0;
  std::uint32_t value_dim = 0;
  double window = 0;          // keys in the sliding window of a query
  double windowed_share = 0;  // share of the layers that have the window
  bool chunked = false;       // windows follow each other in chunks instead of sliding
  double pooling = 0;  // > 0: tokens per compressed key, which a query sees beside its window
  double chosen = 0;   // compressed keys that a query sees at most; 0: all before it
  // Kernels fetch the keys of each query, and ranks of cp gather them before attention: compressed
  // keys, or those of all tokens.
  bool sparse = false;
  bool gathers_tokens = false;
  bool keys_are_values = false;  // values are parts of the keys

  double scores() const { return samples * heads * queries * keys; }
  // Returns the FLOP with all scores, without a causal mask.
  double flops() const { return 2 * scores() * (key_dim + value_dim); }
  double tokens() const { return samples * queries; }
  // Numbers of elements of Q, K, V and the result.
  double query_size() const { return tokens() * heads * key_dim; }
  double key_size() const { return (tokens() + pooled()) * kv_heads * key_dim; }
  double value_size() const { return keys_are_values ? 0 : tokens() * kv_heads * value_dim; }
  // Elements of keys that ranks of cp gather for sparse attention: those of all tokens, or
  // compressed ones. The few tokens of a window before those of a rank take almost no time.
  double gathered_size() const {
    return (pooled() + (gathers_tokens ? tokens() : 0)) * kv_heads * key_dim;
  }
  double pooled() const { return pooling > 0 ? tokens() / pooling : 0; }  // compressed keys
  double result_size() const { return tokens() * heads * value_dim; }
};

// Sizes of an indexer on one GPU, which computes the scores of all heads.
struct Indexing {
  double samples = 0;
  double queries = 0;
  double keys = 0;     // keys of a document, compressed or not
  double pooling = 1;  // tokens per key
  double chosen = 0;   // keys that it chooses for a query
  std::uint32_t heads = 0;
  std::uint32_t head_dim = 0;

  double query_size() const { return samples * queries * heads * head_dim; }
  double key_size() const { return samples * queries / pooling * head_dim; }
  bool chooses() const { return heads > 0 && chosen > 0 && chosen < keys; }
  double chosen_pairs() const {
    return samples * queries * (chosen > 0 && chosen < keys ? chosen : keys);
  }
};

// Numbers of tokens that are routed to experts. Each tp rank sends a part of its tokens; the ranks
// that share an expert gather all tokens that they received.
struct Routing {
  double sent = 0;  // tokens that one GPU sends, counted once per chosen expert
  // Tokens that the experts of the busiest GPU process, counted once per chosen expert, too.
  double received = 0;
};

// Elements that the activation function of an MLP writes (`outputs`), and how many more than that
// it reads if it is gated (`gates`).
struct Activation {
  double outputs = 0;
  double gates = 0;

  double inputs_and_outputs() const { return 2 * outputs + gates; }
};

// Sizes on one GPU of a layer that carries states along the sequence in chunks of tokens, or of a
// short convolution. All members but `tokens` are per token.
struct Recurrence {
  double tokens = 0;
  double projected = 0;  // elements of the input projection's output
  double channels = 0;   // projected elements that go through the convolution
  double values = 0;     // elements of all heads' values, which the layer reads and writes
  // Elements of the products of low rank: decays and gates of Kimi delta attention; steps, B and C
  // of Mamba-1.
  double derived = 0;
  double keys = 0;    // elements that the chunk kernels read: B of Mamba-2, keys of a delta net
  double scores = 0;  // scores of a token with the tokens of its chunk, over all groups or heads
  double states = 0;  // elements of a chunk's state, divided by the tokens of the chunk
  double flops = 0;   // FLOP of the products along the sequence

  double elements(double per_token) const { return tokens * per_token; }
};

struct Layer {
  Mixer mixer = Mixer::attention;
  Attention attention;    // has no heads if the mixer has no attention
  Recurrence recurrence;  // all zero if the mixer has no recurrence
  std::vector<Linear> attention_linears;
  std::vector<Linear> mlp_linears;     // dense MLP or shared experts
  std::vector<Linear> expert_linears;  // routed experts, without the router
  std::vector<Linear> router;          // at most one matrix
  std::vector<Linear> latent_linears;  // projections to and from the width of latent experts
  Routing routing;
  Activation mlp;  // activation of a dense MLP
  Activation shared;
  Activation experts;
  // Number of elements of latent attention's compressed vectors, and how many of these go through a
  // norm.
  double compressed = 0;
  double compressed_norms = 0;
  // Number of elements of low-rank queries and results that sparse attention saves beside its own.
  double absorbed = 0;
  double indexed = 0;        // number of elements of an indexer's queries, keys and weights
  double pooled_inputs = 0;  // number of elements from which compressed keys are made
  Indexing indexing;         // has no heads if the layer has no indexer
  // Products that make the weights with which residual streams are mixed, one before the mixer and
  // one before the MLP.
  std::vector<Linear> stream_linears;

  bool has_recurrence() const { return workload::has_recurrence(mixer); }
  bool has_attention() const { return workload::has_attention(mixer); }
};

Layer layer_on_gpu(const config::Model& model, LayerKind kind, const Sizes& sizes);

// Returns the projection that makes the input of a multi-token prediction module: the hidden state
// and the embedding of the next token, side by side, become one hidden state (DeepSeek-V3, arXiv
// 2412.19437, equation 21).
Linear mtp_projection(const config::Model& model, const Sizes& sizes);

// Returns all products of a layer with weight matrices.
std::vector<Linear> linears_of(const Layer& layer);

// Weights whose products have another data type than the recipe's: by how many bytes they exceed
// weights of the recipe's type (negative: fewer bytes).
struct OtherTypeBytes {
  double stored = 0;    // as stored
  double gathered = 0;  // as gathered by ZeRO
  double casts = 0;     // read and written by casts of gathered weights
  double updated = 0;   // read and written by an update

  OtherTypeBytes& operator+=(const OtherTypeBytes& rhs) {
    stored += rhs.stored;
    gathered += rhs.gathered;
    casts += rhs.casts;
    updated += rhs.updated;
    return *this;
  }
  OtherTypeBytes& operator-=(const OtherTypeBytes& rhs) {
    stored -= rhs.stored;
    gathered -= rhs.gathered;
    casts -= rhs.casts;
    updated -= rhs.updated;
    return *this;
  }
  bool operator==(const OtherTypeBytes&) const = default;
};

// Numbers of parameters on one GPU.
struct Parameters {
  std::uint64_t dense = 0;
  std::uint64_t experts = 0;
  std::uint64_t vocabulary = 0;  // part of `dense` to which no precision recipe applies
  // Parts of `dense` and of `experts` that are trained weight matrices of layers, without biases,
  // and sums of rows and columns of all trained matrices, including embeddings and output layers.
  std::uint64_t matrices = 0;
  std::uint64_t expert_matrices = 0;
  std::uint64_t sides = 0;
  std::uint64_t expert_sides = 0;
  // Parts of `dense`, `experts` and `vocabulary` that are not trained.
  std::uint64_t frozen_dense = 0;
  std::uint64_t frozen_experts = 0;
  std::uint64_t frozen_vocabulary = 0;
  OtherTypeBytes other_types;  // bytes of weights among `dense` with other data types
  OtherTypeBytes expert_other_types;

  std::uint64_t total() const { return dense + experts; }
  std::uint64_t frozen() const { return frozen_dense + frozen_experts; }
  Parameters trained() const {
    return {.dense = dense - frozen_dense,
            .experts = experts - frozen_experts,
            .vocabulary = vocabulary - frozen_vocabulary,
            .matrices = matrices,
            .expert_matrices = expert_matrices,
            .sides = sides,
            .expert_sides = expert_sides};
  }
  void freeze() {
    frozen_dense = dense;
    frozen_experts = experts;
    frozen_vocabulary = vocabulary;
    matrices = expert_matrices = sides = expert_sides = 0;
  }
  Parameters& operator+=(const Parameters& rhs) {
    dense += rhs.dense;
    experts += rhs.experts;
    vocabulary += rhs.vocabulary;
    matrices += rhs.matrices;
    expert_matrices += rhs.expert_matrices;
    sides += rhs.sides;
    expert_sides += rhs.expert_sides;
    frozen_dense += rhs.frozen_dense;
    frozen_experts += rhs.frozen_experts;
    frozen_vocabulary += rhs.frozen_vocabulary;
    other_types += rhs.other_types;
    expert_other_types += rhs.expert_other_types;
    return *this;
  }
  Parameters& operator-=(const Parameters& rhs) {
    dense -= rhs.dense;
    experts -= rhs.experts;
    vocabulary -= rhs.vocabulary;
    matrices -= rhs.matrices;
    expert_matrices -= rhs.expert_matrices;
    sides -= rhs.sides;
    expert_sides -= rhs.expert_sides;
    frozen_dense -= rhs.frozen_dense;
    frozen_experts -= rhs.frozen_experts;
    frozen_vocabulary -= rhs.frozen_vocabulary;
    other_types -= rhs.other_types;
    expert_other_types -= rhs.expert_other_types;
    return *this;
  }
  bool operator==(const Parameters&) const = default;
};

// Adds the elements of a product's weight matrices, and their rows and columns, to the matrices of
// `parameters` or to those of its experts.
void add_matrix(const Linear& linear, bool is_expert, Parameters& parameters);
// Calls add(group, parameters) with the parameters, without counts of matrices, of one layer on one
// GPU by groups of weights. They depend only on tp, ep, etp and the padded vocabulary of `sizes`.
void add_layer_parameters(const config::Model& model, LayerKind kind, const Sizes& sizes,
                          const std::function<void(config::WeightGroup, const Parameters&)>& add);
// Returns the number of parameters of one layer on one GPU.
Parameters layer_parameters(const config::Model& model, LayerKind kind, const Sizes& sizes);
// Returns the number of parameters of a multi-token prediction module: its projection, its layer
// and three norms. Embedding and output matrix are shared with the model.
Parameters mtp_parameters(const config::Model& model, const Sizes& sizes);
// Number of sets of weights that so many modules of multi-token prediction have on one device: one
// for each module, or a single one that all of them use.
std::uint32_t mtp_weight_sets(const config::Model& model, std::uint32_t modules);
std::uint64_t embedding_parameters(const config::Model& model, const Sizes& sizes);
std::uint64_t position_parameters(const config::Model& model, const Sizes& sizes);
// Returns the number of parameters of the final norm and, unless it is tied to the embedding, of
// the output matrix.
std::uint64_t head_parameters(const config::Model& model, const Sizes& sizes);

// Return the number of parameters of a model as papers count them, without padding or copies: of
// all, and of those that are active for one token (top_k of the experts).
std::uint64_t parameter_count(const config::Model& model);
std::uint64_t active_parameter_count(const config::Model& model);

}  // namespace pipewright::workload
