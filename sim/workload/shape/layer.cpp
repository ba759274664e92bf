#include <cmath>

#include "sim/workload/shape/recurrence.hpp"
#include "sim/workload/shape/shape.hpp"

// Computes the weight matrices and the number of parameters of a layer on one GPU.
namespace pipewright::workload {
namespace {

using config::Model;

// Returns the share of a transformer's layers whose attention uses a sliding window.
double windowed_share(const Model& model) {
  if (model.sliding_window == 0) return 0;
  const double full =
      model.full_attention_every == 0 ? 0 : model.layers / model.full_attention_every;
  return 1 - full / model.layers;
}

// Sets the sizes of attention in which each query fetches the keys that an indexer chose. All heads
// share the compressed vector of a token as their key and value (DeepSeek-V3.2, section 2.1), and
// queries and results have its size. Documents that are no longer than the choice see all keys.
void set_chosen_keys(const Model& model, Attention& attention) {
  if (!model.indexer || model.indexer->top_k == 0 || attention.keys <= model.indexer->top_k) return;
  attention.kv_heads = 1;
  attention.key_dim = model.latent->kv_rank + model.latent->rope_head_dim;
  attention.value_dim = model.latent->kv_rank;
  attention.window = model.indexer->top_k;
  attention.windowed_share = 1;
  attention.sparse = attention.gathers_tokens = attention.keys_are_values = true;
}

// Sets the sizes of compressed attention, whose heads share one key and value.
void set_compressed_keys(const Model& model, Mixer mixer, Attention& attention) {
  attention.kv_heads = 1;
  attention.value_dim = attention.key_dim;
  attention.windowed_share = 1;
  attention.sparse = attention.keys_are_values = true;
  if (mixer == Mixer::compressed) {
    attention.pooling = model.compressed->ratio;
    attention.chosen = model.indexer->top_k;
  } else if (mixer == Mixer::heavily_compressed) {
    attention.pooling = model.compressed->heavy_ratio;
  }
}

// Returns the heads of keys and values that the attention of a rank reads: at least one, which
// other ranks of tp then read too.
std::uint32_t kv_heads_of_rank(std::uint32_t kv_heads, std::uint32_t tp) {
  return kv_heads == 0 ? 0 : std::max(1U, kv_heads / tp);
}

Attention layer_attention(const Model& model, Mixer mixer, const Sizes& sizes) {
  Attention attention{.samples = sizes.samples,
                      .queries = sizes.queries,
                      .keys = sizes.document,
                      .heads = model.heads / sizes.tp,
                      .kv_heads = kv_heads_of_rank(model.kv_heads, sizes.tp),
                      .key_dim = model.head_dim,
                      .value_dim = model.value_size(),
                      .window = static_cast<double>(model.sliding_window),
                      .chunked = model.chunked};
  if (mixer == Mixer::sliding)
    attention.windowed_share = 1;
  else if (model.pattern.empty())
    attention.windowed_share = windowed_share(model);
  if (mixer == Mixer::sliding && model.sliding) {
    attention.heads = model.sliding->heads / sizes.tp;
    attention.kv_heads = kv_heads_of_rank(model.sliding->kv_heads, sizes.tp);
    attention.key_dim = model.sliding->head_dim;
    attention.value_dim = model.sliding->value_head_dim;
  }
  if (is_latent(mixer)) {
    attention.kv_heads = attention.heads;
    attention.key_dim = model.latent->nope_head_dim + model.latent->rope_head_dim;
    attention.value_dim = model.latent->value_head_dim;
    set_chosen_keys(model, attention);
  }
  if (is_compressed(mixer)) set_compressed_keys(model, mixer, attention);
  return attention;
}

// Sizes of a head's query after the first products, and of its result before the last ones.
std::uint32_t query_dim(const Model& model, Mixer mixer, const Attention& a) {
  return is_latent(mixer) ? model.latent->nope_head_dim + model.latent->rope_head_dim : a.key_dim;
}
std::uint32_t result_dim(const Model& model, Mixer mixer, const Attention& a) {
  return is_latent(mixer) ? model.latent->value_head_dim : a.value_dim;
}

// Heads of keys and values of the whole model in layers of this mixer.
std::uint32_t kv_heads_of(const Model& model, Mixer mixer) {
  return mixer == Mixer::sliding && model.sliding ? model.sliding->kv_heads : model.kv_heads;
}

bool has_values(const Model& model, Mixer mixer) {
  return mixer == Mixer::sliding || !model.keys_as_values;
}

// Returns the width of the output of the QKV product on a rank: queries, keys and values and, with
// an output gate, as many gates as the result has elements. The weights are split evenly over the
// ranks of tp, also if there are more ranks than heads of keys and values.
std::uint64_t qkv_width(const Model& model, Mixer mixer, const Attention& a, std::uint32_t tp) {
  return std::uint64_t{a.heads} * (a.key_dim + (model.output_gate ? a.value_dim : 0)) +
         std::uint64_t{kv_heads_of(model, mixer)} *
             (a.key_dim + (has_values(model, mixer) ? a.value_dim : 0)) / tp;
}

// Adds the products of latent attention (MLA). The up-projections, and that of an output gate, are
// split over the tp ranks by heads. The down-projections are not split: each rank computes them for
// the tokens that it holds anyway.
void add_latent(const Model& model, const Sizes& sizes, Layer& layer) {
  const Model::Latent& latent = *model.latent;
  const Attention& a = layer.attention;
  const std::uint64_t hidden = model.hidden;
  auto& linears = layer.attention_linears;
  const std::uint64_t queries = std::uint64_t{a.heads} * query_dim(model, layer.mixer, a);
  if (latent.query_rank > 0)
    linears.push_back({Part::mla_down, sizes.spread_tokens, hidden, latent.query_rank});
  linears.push_back({.part = Part::mla_up,
                     .tokens = sizes.tokens,
                     .inputs = latent.query_rank > 0 ? latent.query_rank : hidden,
                     .outputs = queries,
                     .gathers_input = true});
  linears.push_back({.part = Part::mla_down,
                     .tokens = sizes.spread_tokens,
                     .inputs = hidden,
                     .outputs = latent.kv_rank + latent.rope_head_dim,
                     .keys = latent.kv_rank + latent.rope_head_dim});
  const std::uint64_t keys_and_values =
      std::uint64_t{a.heads} * (latent.nope_head_dim + latent.value_head_dim);
  linears.push_back({.part = Part::mla_up,
                     .tokens = sizes.tokens,
                     .inputs = latent.kv_rank,
                     .outputs = keys_and_values,
                     .gathers_input = true,
                     .keys = keys_and_values});
  if (model.output_gate)
    linears.push_back({.part = Part::qkv,
                       .tokens = sizes.tokens,
                       .inputs = hidden,
                       .outputs = std::uint64_t{a.heads} * latent.value_head_dim,
                       .gathers_input = true});
  layer.compressed_norms = sizes.spread_tokens * (latent.query_rank + latent.kv_rank);
  layer.compressed = layer.compressed_norms + sizes.spread_tokens * latent.rope_head_dim;
  // The up-projections of keys and values become products with the queries before sparse attention
  // and with its results, of equal FLOP. Their inputs and results are saved.
  if (a.sparse)
    layer.absorbed = sizes.tokens * a.heads * (latent.nope_head_dim + latent.value_head_dim);
}

// Width of the products from which compressed keys of `size` elements are made: numbers and their
// weights. Keys of an indexer's layers overlap, so that a token counts in two of them.
std::uint64_t compressor_width(Mixer mixer, std::uint64_t size) {
  return size * (mixer == Mixer::compressed ? 4 : 2);
}

// Counts the parameters of a compressor: its products, a position for each token of a key, and a
// norm.
std::uint64_t compressor_parameters(const Model& model, Mixer mixer, std::uint64_t size) {
  if (mixer == Mixer::window) return 0;
  const std::uint64_t ratio =
      mixer == Mixer::compressed ? model.compressed->ratio : model.compressed->heavy_ratio;
  const std::uint64_t width = compressor_width(mixer, size);
  return model.hidden * width + ratio * width / 2 + size;
}

// Adds the products of compressed attention before its scores. As in latent attention, tp splits
// the up-projection of the queries alone.
void add_compressed(const Model& model, const Sizes& sizes, Layer& layer) {
  const Attention& a = layer.attention;
  const std::uint64_t hidden = model.hidden;
  const std::uint64_t rank = model.compressed->query_rank;
  auto& linears = layer.attention_linears;
  linears.push_back({Part::mla_down, sizes.spread_tokens, hidden, rank});
  linears.push_back({.part = Part::mla_up,
                     .tokens = sizes.tokens,
                     .inputs = rank,
                     .outputs = std::uint64_t{a.heads} * a.key_dim,
                     .gathers_input = true});
  linears.push_back({.part = Part::mla_down,
                     .tokens = sizes.spread_tokens,
                     .inputs = hidden,
                     .outputs = a.key_dim,
                     .keys = a.key_dim});
  layer.compressed = layer.compressed_norms =
      sizes.spread_tokens * static_cast<double>(rank + a.key_dim);
  if (layer.mixer == Mixer::window) return;
  const std::uint64_t width = compressor_width(layer.mixer, a.key_dim);
  linears.push_back({Part::compressor, sizes.spread_tokens, hidden, width});
  layer.pooled_inputs = sizes.spread_tokens * static_cast<double>(width);
}

// Adds the product that makes vectors of low rank from the results of each group of heads.
void add_output_groups(const Model& model, const Sizes& sizes, Layer& layer) {
  const Model::Compressed& compressed = *model.compressed;
  const Attention& a = layer.attention;
  const std::uint32_t groups = compressed.output_groups / sizes.tp;
  layer.attention_linears.push_back(
      {.part = Part::projection,
       .tokens = sizes.tokens,
       .inputs = std::uint64_t{model.heads / compressed.output_groups} * a.value_dim,
       .outputs = compressed.output_rank,
       .count = groups});
  layer.absorbed = sizes.tokens * groups * compressed.output_rank;
}

// Adds the products of an indexer, which every tp rank computes for all heads: queries from the
// compressed queries of attention, a key per token or the numbers from which compressed keys are
// made, and a weight per head.
void add_indexer(const Model& model, const Sizes& sizes, Layer& layer) {
  const Model::Indexer& indexer = *model.indexer;
  const bool pools = layer.mixer == Mixer::compressed;
  const std::uint64_t rank = pools ? model.compressed->query_rank : model.latent->query_rank;
  const std::uint64_t queries = std::uint64_t{indexer.heads} * indexer.head_dim;
  const std::uint64_t width =
      pools ? compressor_width(layer.mixer, indexer.head_dim) : indexer.head_dim;
  auto& linears = layer.attention_linears;
  linears.push_back({Part::indexer, sizes.spread_tokens, rank, queries});
  linears.push_back({Part::indexer, sizes.spread_tokens, model.hidden, width + indexer.heads});
  layer.indexed = sizes.spread_tokens * static_cast<double>(queries + width + indexer.heads);
  const double pooling = pools ? model.compressed->ratio : 1;
  layer.indexing = {.samples = sizes.samples,
                    .queries = sizes.queries,
                    .keys = std::floor(sizes.document / pooling),
                    .pooling = pooling,
                    .chosen = static_cast<double>(indexer.top_k),
                    .heads = indexer.heads,
                    .head_dim = indexer.head_dim};
}

// Counts the parameters of an indexer. A key per token has a LayerNorm.
std::uint64_t indexer_parameters(const Model& model, Mixer mixer) {
  const Model::Indexer& indexer = *model.indexer;
  const bool pools = mixer == Mixer::compressed;
  const std::uint64_t rank = pools ? model.compressed->query_rank : model.latent->query_rank;
  const std::uint64_t keys = pools ? compressor_parameters(model, mixer, indexer.head_dim)
                                   : (model.hidden + 2ULL) * indexer.head_dim;
  return rank * indexer.heads * indexer.head_dim + std::uint64_t{model.hidden} * indexer.heads +
         keys;
}

void add_attention(const Model& model, const Sizes& sizes, Layer& layer) {
  layer.attention = layer_attention(model, layer.mixer, sizes);
  const Attention& a = layer.attention;
  if (is_latent(layer.mixer))
    add_latent(model, sizes, layer);
  else if (is_compressed(layer.mixer))
    add_compressed(model, sizes, layer);
  else
    layer.attention_linears.push_back(
        {.part = Part::qkv,
         .tokens = sizes.tokens,
         .inputs = model.hidden,
         .outputs = qkv_width(model, layer.mixer, a, sizes.tp),
         .gathers_input = true,
         .gathers_output = kv_heads_of(model, layer.mixer) < sizes.tp,
         .keys = std::uint64_t{kv_heads_of(model, layer.mixer)} * a.key_dim / sizes.tp,
         .values = has_values(model, layer.mixer)
                       ? std::uint64_t{kv_heads_of(model, layer.mixer)} * a.value_dim / sizes.tp
                       : 0});
  if (has_indexer(layer.mixer)) add_indexer(model, sizes, layer);
  std::uint64_t results = std::uint64_t{a.heads} * result_dim(model, layer.mixer, a);
  if (is_compressed(layer.mixer)) {
    add_output_groups(model, sizes, layer);
    results =
        std::uint64_t{model.compressed->output_groups} * model.compressed->output_rank / sizes.tp;
  }
  layer.attention_linears.push_back({.part = Part::projection,
                                     .tokens = sizes.tokens,
                                     .inputs = results,
                                     .outputs = model.hidden,
                                     .scatters_output = true});
}

struct Mlp {
  Part in = Part::mlp_in;
  Part out = Part::mlp_out;
  std::uint64_t width = 0;  // width of the input and of the output
  std::uint64_t ffn = 0;
  double tokens = 0;
  std::uint32_t count = 1;  // MLPs of this shape, each with `tokens` tokens
};

Activation add_mlp(const Model& model, const Mlp& mlp, std::vector<Linear>& linears) {
  linears.push_back({.part = mlp.in,
                     .tokens = mlp.tokens,
                     .inputs = mlp.width,
                     .outputs = (model.gated ? 2 : 1) * mlp.ffn,
                     .count = mlp.count,
                     .gathers_input = true});
  linears.push_back({.part = mlp.out,
                     .tokens = mlp.tokens,
                     .inputs = mlp.ffn,
                     .outputs = mlp.width,
                     .count = mlp.count,
                     .scatters_output = true});
  const double outputs = mlp.tokens * static_cast<double>(mlp.ffn) * mlp.count;
  return {.outputs = outputs, .gates = model.gated ? outputs : 0};
}

void add_experts(const Model& model, const Sizes& sizes, Layer& layer) {
  const Model::Experts& experts = *model.experts;
  layer.router.push_back({Part::router, sizes.spread_tokens, model.hidden, experts.count});
  const double visits = experts.top_k * experts.capacity_factor.value_or(1);
  layer.routing = {.sent = sizes.spread_tokens * visits,
                   .received = sizes.spread_tokens * sizes.etp * visits * sizes.imbalance};
  const std::uint32_t local_experts = experts.count / sizes.ep;
  // Latent experts work on smaller vectors: tokens are projected down before they are dispatched
  // and up again when they return. Like the router, both matrices are not split over tp.
  if (experts.latent > 0) {
    auto& linears = layer.latent_linears;
    linears.push_back({Part::latent_in, sizes.spread_tokens, model.hidden, experts.latent});
    linears.push_back({Part::latent_out, sizes.spread_tokens, experts.latent, model.hidden});
  }
  layer.experts = add_mlp(model,
                          {.in = Part::expert_in,
                           .out = Part::expert_out,
                           .width = model.expert_width(),
                           .ffn = experts.ffn / sizes.etp,
                           .tokens = layer.routing.received / local_experts,
                           .count = local_experts},
                          layer.expert_linears);
  if (experts.shared > 0)
    layer.shared = add_mlp(model,
                           {.in = Part::shared_in,
                            .out = Part::shared_out,
                            .width = model.hidden,
                            .ffn = std::uint64_t{experts.shared} * experts.shared_ffn / sizes.tp,
                            .tokens = sizes.tokens},
                           layer.mlp_linears);
}

using Biases = Model::Biases;

// Returns the number of parameters of a matrix and, if it has one, of its bias.
std::uint64_t matrix_parameters(bool biased, std::uint64_t inputs, std::uint64_t outputs) {
  return inputs * outputs + (biased ? outputs : 0);
}

std::uint64_t norm_parameters(const Model& model, std::uint64_t size) {
  return model.norm == Model::Norm::layernorm ? 2 * size : size;
}

std::uint64_t mlp_parameters(const Model& model, std::uint64_t width, std::uint64_t ffn) {
  const bool biased = model.biases == Biases::all;
  return matrix_parameters(biased, width, (model.gated ? 2 : 1) * ffn) +
         matrix_parameters(biased, ffn, width);
}

// Counts the parameters of compressed attention: the products of queries, with a norm of their
// low-rank vectors, of keys with theirs, and of results.
std::uint64_t compressed_parameters(const Model& model, Mixer mixer, const Sizes& sizes) {
  const Model::Compressed& compressed = *model.compressed;
  const std::uint64_t hidden = model.hidden;
  const std::uint64_t rank = compressed.query_rank;
  const std::uint64_t results = std::uint64_t{model.heads / sizes.tp} * model.head_dim;
  const std::uint64_t groups = compressed.output_groups / sizes.tp;
  return rank * (hidden + results) + norm_parameters(model, rank) + hidden * model.head_dim +
         norm_parameters(model, model.head_dim) +
         compressed.output_rank * (results + groups * hidden) +
         compressor_parameters(model, mixer, model.head_dim) +
         (has_indexer(mixer) ? indexer_parameters(model, mixer) : 0);
}

std::uint64_t attention_parameters(const Model& model, Mixer mixer, const Sizes& sizes) {
  if (is_compressed(mixer)) return compressed_parameters(model, mixer, sizes);
  const Attention a = layer_attention(model, mixer, sizes);
  const bool biased = model.biases == Biases::all || model.biases == Biases::attention;
  const std::uint64_t out =
      matrix_parameters(biased, std::uint64_t{a.heads} * result_dim(model, mixer, a), model.hidden);
  if (!is_latent(mixer))
    return out +
           matrix_parameters(model.biases != Biases::none, model.hidden,
                             qkv_width(model, mixer, a, sizes.tp)) +
           (model.qk_layernorm ? 2 * norm_parameters(model, a.key_dim) : 0);
  const Model::Latent& latent = *model.latent;
  const std::uint64_t queries = std::uint64_t{a.heads} * query_dim(model, mixer, a);
  const std::uint64_t from_query =
      latent.query_rank == 0 ? matrix_parameters(biased, model.hidden, queries)
                             : matrix_parameters(biased, model.hidden, latent.query_rank) +
                                   norm_parameters(model, latent.query_rank) +
                                   matrix_parameters(biased, latent.query_rank, queries);
  const std::uint64_t gate =
      model.output_gate
          ? matrix_parameters(biased, model.hidden, std::uint64_t{a.heads} * latent.value_head_dim)
          : 0;
  return out + from_query + gate + (has_indexer(mixer) ? indexer_parameters(model, mixer) : 0) +
         matrix_parameters(biased, model.hidden, latent.kv_rank + latent.rope_head_dim) +
         norm_parameters(model, latent.kv_rank) +
         matrix_parameters(biased, latent.kv_rank,
                           std::uint64_t{a.heads} * (latent.nope_head_dim + latent.value_head_dim));
}

void add_mixer(const Model& model, const Sizes& sizes, Layer& layer) {
  if (layer.has_attention()) add_attention(model, sizes, layer);
  if (has_mamba(layer.mixer)) add_mamba(*model.mamba, model.hidden, sizes, layer);
  if (layer.mixer == Mixer::linear)
    add_linear_attention(*model.linear_attention, model.hidden, sizes, layer);
  if (layer.mixer == Mixer::convolution)
    add_short_convolution(*model.short_convolution, model.hidden, sizes, layer);
}

std::uint64_t mixer_parameters(const Model& model, Mixer mixer, const Sizes& sizes) {
  std::uint64_t parameters = 0;
  if (has_attention(mixer)) parameters += attention_parameters(model, mixer, sizes);
  if (has_mamba(mixer)) parameters += mamba_parameters(*model.mamba, model.hidden, sizes.tp);
  if (mixer == Mixer::linear)
    parameters += linear_attention_parameters(*model.linear_attention, model.hidden, sizes.tp);
  if (mixer == Mixer::convolution)
    parameters += short_convolution_parameters(*model.short_convolution, model.hidden, sizes.tp);
  return parameters;
}

}  // namespace

Linear mtp_projection(const Model& model, const Sizes& sizes) {
  return {.part = Part::mtp_projection,
          .tokens = sizes.tokens,
          .inputs = 2ULL * model.hidden,
          .outputs = model.hidden / sizes.tp,
          .gathers_input = true};
}

namespace {

// Width of the product that weighs residual streams: a weight of each stream before a mixer or an
// MLP, one after it, and a matrix that mixes them.
std::uint64_t stream_weights(const Model& model) {
  const std::uint64_t streams = model.residual_streams;
  return streams * (streams + 2);
}

// Counts the parameters of hyper-connections around a mixer or an MLP: the product, its bias and
// three scales.
std::uint64_t stream_parameters(const Model& model) {
  if (model.residual_streams == 1) return 0;
  return stream_weights(model) * (model.residual_width() + 1) + 3;
}

// Counts the parameters that make one hidden state from the streams: a weight of each, with a bias,
// and a scale.
std::uint64_t last_stream_parameters(const Model& model) {
  if (model.residual_streams == 1) return 0;
  return model.residual_streams * (model.residual_width() + 1) + 1;
}

}  // namespace

Layer layer_on_gpu(const Model& model, LayerKind kind, const Sizes& sizes) {
  Layer layer;
  layer.mixer = mixer_of(model, kind);
  const std::uint32_t parts =
      (layer.mixer != Mixer::none ? 1 : 0) + (feed_forward_of(kind) != FeedForward::none ? 1 : 0);
  if (model.residual_streams > 1)
    layer.stream_linears.assign(
        parts, {Part::streams, sizes.spread_tokens, model.residual_width(), stream_weights(model)});
  add_mixer(model, sizes, layer);
  const FeedForward feed_forward = feed_forward_of(kind);
  if (feed_forward == FeedForward::experts) add_experts(model, sizes, layer);
  if (feed_forward == FeedForward::dense)
    layer.mlp = add_mlp(
        model,
        {.width = model.hidden, .ffn = ffn_of(model, kind) / sizes.tp, .tokens = sizes.tokens},
        layer.mlp_linears);
  return layer;
}

std::vector<Linear> linears_of(const Layer& layer) {
  std::vector<Linear> products = layer.attention_linears;
  for (const auto* linears : {&layer.router, &layer.mlp_linears, &layer.latent_linears,
                              &layer.expert_linears, &layer.stream_linears})
    products.insert(products.end(), linears->begin(), linears->end());
  return products;
}

void add_matrix(const Linear& linear, bool is_expert, Parameters& parameters) {
  const std::uint64_t elements = linear.count * linear.inputs * linear.outputs;
  const std::uint64_t sides = linear.count * (linear.inputs + linear.outputs);
  (is_expert ? parameters.expert_matrices : parameters.matrices) += elements;
  (is_expert ? parameters.expert_sides : parameters.sides) += sides;
}

void add_layer_parameters(const Model& model, LayerKind kind, const Sizes& sizes,
                          const std::function<void(config::WeightGroup, const Parameters&)>& add) {
  using config::WeightGroup;
  const Parameters norms{.dense =
                             (model.post_norms ? 2 : 1) * norm_parameters(model, model.hidden) +
                             stream_parameters(model)};
  const Mixer mixer = mixer_of(model, kind);
  const FeedForward feed_forward = feed_forward_of(kind);
  if (mixer != Mixer::none) {
    add(WeightGroup::norms, norms);
    add(WeightGroup::attention, {.dense = mixer_parameters(model, mixer, sizes)});
  }
  if (feed_forward == FeedForward::none) return;
  add(WeightGroup::norms, norms);
  if (feed_forward == FeedForward::dense)
    return add(WeightGroup::mlp,
               {.dense = mlp_parameters(model, model.hidden, ffn_of(model, kind) / sizes.tp)});
  const Model::Experts& experts = *model.experts;
  add(WeightGroup::router, {.dense = std::uint64_t{model.hidden} * experts.count});
  add(WeightGroup::experts,
      {.dense = 2ULL * model.hidden * experts.latent,
       .experts = mlp_parameters(model, model.expert_width(), experts.ffn / sizes.etp) *
                  (experts.count / sizes.ep)});
  if (experts.shared > 0)
    add(WeightGroup::mlp,
        {.dense = mlp_parameters(model, model.hidden,
                                 std::uint64_t{experts.shared} * experts.shared_ffn / sizes.tp)});
}

Parameters layer_parameters(const Model& model, LayerKind kind, const Sizes& sizes) {
  Parameters sum;
  add_layer_parameters(model, kind, sizes,
                       [&](config::WeightGroup, const Parameters& group) { sum += group; });
  for (const Linear& linear : linears_of(layer_on_gpu(model, kind, sizes)))
    add_matrix(linear, is_expert_part(linear.part), sum);
  return sum;
}

Parameters mtp_parameters(const Model& model, const Sizes& sizes) {
  Parameters parameters = layer_parameters(model, kind_of_mtp(model), sizes);
  const Linear projection = mtp_projection(model, sizes);
  parameters.dense += projection.inputs * projection.outputs +
                      3 * norm_parameters(model, model.hidden) + last_stream_parameters(model);
  add_matrix(projection, false, parameters);
  return parameters;
}

std::uint32_t mtp_weight_sets(const Model& model, std::uint32_t modules) {
  return model.mtp_use_repeated_layer ? std::min(modules, 1U) : modules;
}

std::uint64_t embedding_parameters(const Model& model, const Sizes& sizes) {
  return sizes.vocabulary / sizes.tp * model.hidden;
}

std::uint64_t position_parameters(const Model& model, const Sizes& sizes) {
  return model.learned_positions ? static_cast<std::uint64_t>(sizes.sequence) * model.hidden : 0;
}

std::uint64_t head_parameters(const Model& model, const Sizes& sizes) {
  return norm_parameters(model, model.hidden) + last_stream_parameters(model) +
         (model.tied_embeddings ? 0 : embedding_parameters(model, sizes));
}

Parameters model_parameters(const Model& model) {
  const Sizes sizes = uncut_sizes(model, 1, model.sequence);
  Parameters total{.dense = embedding_parameters(model, sizes) + position_parameters(model, sizes) +
                            head_parameters(model, sizes)};
  for (std::uint32_t layer = 0; layer < model.layers; ++layer)
    total += layer_parameters(model, kind_of_layer(model, layer), sizes);
  for (std::uint32_t set = 0; set < mtp_weight_sets(model, model.mtp_layers); ++set)
    total += mtp_parameters(model, sizes);
  return total;
}

std::uint64_t parameter_count(const Model& model) { return model_parameters(model).total(); }

std::uint64_t active_parameter_count(const Model& model) {
  const Parameters total = model_parameters(model);
  if (!model.experts) return total.total();
  return total.dense + total.experts / model.experts->count * model.experts->top_k;
}

}  // namespace pipewright::workload
