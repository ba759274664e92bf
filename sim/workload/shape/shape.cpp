#include "sim/workload/shape/shape.hpp"

#include <array>

namespace pipewright::workload {
namespace {

using config::Model;

Attention attention_of(const Model& model, const Sizes& sizes) {
  Attention attention{.samples = sizes.samples,
                      .queries = sizes.queries,
                      .keys = sizes.sequence,
                      .heads = model.heads / sizes.tp,
                      .kv_heads = model.kv_heads / sizes.tp,
                      .key_dim = model.head_dim,
                      .value_dim = model.head_dim};
  if (model.latent) {
    attention.kv_heads = attention.heads;
    attention.key_dim = model.latent->nope_head_dim + model.latent->rope_head_dim;
    attention.value_dim = model.latent->value_head_dim;
  }
  return attention;
}

// Each rank of tp has its heads of the matrices; compressing is done by all of them, on the tokens
// that they have anyway.
void add_latent(const Model& model, const Sizes& sizes, Layer& layer) {
  const Model::Latent& latent = *model.latent;
  const Attention& a = layer.attention;
  const std::uint64_t hidden = model.hidden;
  auto& linears = layer.attention_linears;
  const std::uint64_t queries = std::uint64_t{a.heads} * a.key_dim;
  if (latent.query_rank > 0)
    linears.push_back({Part::mla_down, sizes.spread_tokens, hidden, latent.query_rank});
  linears.push_back({.part = latent.query_rank > 0 ? Part::mla_up : Part::qkv,
                     .tokens = sizes.tokens,
                     .inputs = latent.query_rank > 0 ? latent.query_rank : hidden,
                     .outputs = queries,
                     .gathers_input = true});
  linears.push_back(
      {Part::mla_down, sizes.spread_tokens, hidden, latent.kv_rank + latent.rope_head_dim});
  linears.push_back(
      {.part = Part::mla_up,
       .tokens = sizes.tokens,
       .inputs = latent.kv_rank,
       .outputs = std::uint64_t{a.heads} * (latent.nope_head_dim + latent.value_head_dim),
       .gathers_input = true});
  // What comes out of the compressing products, and once more out of the norms that follow.
  layer.compressed =
      sizes.spread_tokens * (2.0 * latent.query_rank + 2.0 * latent.kv_rank + latent.rope_head_dim);
}

void add_attention(const Model& model, const Sizes& sizes, Layer& layer) {
  layer.attention = attention_of(model, sizes);
  const Attention& a = layer.attention;
  if (model.latent)
    add_latent(model, sizes, layer);
  else
    layer.attention_linears.push_back(
        {.part = Part::qkv,
         .tokens = sizes.tokens,
         .inputs = model.hidden,
         .outputs = std::uint64_t{a.heads + 2 * a.kv_heads} * model.head_dim,
         .gathers_input = true});
  layer.attention_linears.push_back({.part = Part::projection,
                                     .tokens = sizes.tokens,
                                     .inputs = std::uint64_t{a.heads} * a.value_dim,
                                     .outputs = model.hidden,
                                     .scatters_output = true});
}

struct Mlp {
  Part in = Part::mlp_in;
  Part out = Part::mlp_out;
  std::uint64_t ffn = 0;
  double tokens = 0;
  std::uint32_t count = 1;  // so many side by side, with `tokens` tokens each
};

Activation add_mlp(const Model& model, const Mlp& mlp, std::vector<Linear>& linears) {
  linears.push_back({.part = mlp.in,
                     .tokens = mlp.tokens,
                     .inputs = model.hidden,
                     .outputs = (model.gated ? 2 : 1) * mlp.ffn,
                     .count = mlp.count,
                     .gathers_input = true});
  linears.push_back({.part = mlp.out,
                     .tokens = mlp.tokens,
                     .inputs = mlp.ffn,
                     .outputs = model.hidden,
                     .count = mlp.count,
                     .scatters_output = true});
  const double made = mlp.tokens * static_cast<double>(mlp.ffn) * mlp.count;
  return {.made = made, .gates = model.gated ? made : 0};
}

void add_experts(const Model& model, const Sizes& sizes, Layer& layer) {
  const Model::Experts& experts = *model.experts;
  layer.router.push_back({Part::router, sizes.spread_tokens, model.hidden, experts.count});
  const double visits = experts.top_k * experts.capacity_factor;
  layer.routing = {.sent = sizes.spread_tokens * visits,
                   .received = sizes.spread_tokens * sizes.etp * visits * sizes.imbalance};
  const std::uint32_t here = experts.count / sizes.ep;
  layer.experts = add_mlp(model,
                          {.in = Part::expert_in,
                           .out = Part::expert_out,
                           .ffn = experts.ffn / sizes.etp,
                           .tokens = layer.routing.received / here,
                           .count = here},
                          layer.expert_linears);
  if (experts.shared > 0)
    layer.shared = add_mlp(model,
                           {.in = Part::shared_in,
                            .out = Part::shared_out,
                            .ffn = std::uint64_t{experts.shared} * experts.shared_ffn / sizes.tp,
                            .tokens = sizes.tokens},
                           layer.mlp_linears);
}

// Of a matrix and its bias.
std::uint64_t weights(const Model& model, std::uint64_t inputs, std::uint64_t outputs) {
  return inputs * outputs + (model.biases ? outputs : 0);
}

std::uint64_t norm_parameters(const Model& model, std::uint64_t size) {
  return model.norm == Model::Norm::layernorm ? 2 * size : size;
}

std::uint64_t mlp_parameters(const Model& model, std::uint64_t ffn) {
  return weights(model, model.hidden, (model.gated ? 2 : 1) * ffn) +
         weights(model, ffn, model.hidden);
}

std::uint64_t attention_parameters(const Model& model, const Sizes& sizes) {
  const Attention a = attention_of(model, sizes);
  const std::uint64_t out = weights(model, std::uint64_t{a.heads} * a.value_dim, model.hidden);
  if (!model.latent)
    return out +
           weights(model, model.hidden, std::uint64_t{a.heads + 2 * a.kv_heads} * model.head_dim);
  const Model::Latent& latent = *model.latent;
  const std::uint64_t queries = std::uint64_t{a.heads} * a.key_dim;
  const std::uint64_t from_query = latent.query_rank == 0
                                       ? weights(model, model.hidden, queries)
                                       : weights(model, model.hidden, latent.query_rank) +
                                             norm_parameters(model, latent.query_rank) +
                                             weights(model, latent.query_rank, queries);
  return out + from_query + weights(model, model.hidden, latent.kv_rank + latent.rope_head_dim) +
         norm_parameters(model, latent.kv_rank) +
         weights(model, latent.kv_rank,
                 std::uint64_t{a.heads} * (latent.nope_head_dim + latent.value_head_dim));
}

// In the order of the enumeration.
constexpr std::array<std::string_view, part_count> part_names{"embedding",
                                                              "attention norm",
                                                              "qkv",
                                                              "mla down",
                                                              "mla up",
                                                              "rotary",
                                                              "core attention",
                                                              "projection",
                                                              "residual",
                                                              "mlp norm",
                                                              "mlp in",
                                                              "activation",
                                                              "mlp out",
                                                              "router",
                                                              "permute",
                                                              "expert in",
                                                              "expert activation",
                                                              "expert out",
                                                              "unpermute",
                                                              "shared in",
                                                              "shared activation",
                                                              "shared out",
                                                              "mtp norm",
                                                              "mtp projection",
                                                              "head norm",
                                                              "head",
                                                              "loss"};

}  // namespace

Sizes uncut_sizes(const Model& model, double samples, double sequence) {
  return {.samples = samples,
          .sequence = sequence,
          .queries = sequence,
          .tokens = samples * sequence,
          .spread_tokens = samples * sequence,
          .vocabulary = model.vocabulary};
}

std::string_view name_of(Part part) { return part_names[static_cast<std::size_t>(part)]; }

std::uint64_t padded_vocabulary(std::uint32_t vocabulary, std::uint32_t multiple,
                                std::uint32_t tp) {
  const std::uint64_t step = std::uint64_t{multiple} * tp;
  return (vocabulary + step - 1) / step * step;
}

Sizes sizes_of(const config::Model& model, const config::Training& training,
               const config::Parallel& parallel) {
  Sizes sizes;
  sizes.tp = parallel.tp.value;
  sizes.cp = parallel.cp.value;
  sizes.cp_comm = parallel.cp_comm;
  sizes.ep = parallel.ep.value;
  sizes.etp = model.experts ? parallel.expert_tp() : 1;
  if (sizes.ep > 1) sizes.imbalance = std::min<double>(training.experts.imbalance, sizes.ep);
  sizes.sequence_parallel = parallel.sequence && sizes.tp > 1;
  sizes.samples = training.microbatch_size;
  sizes.sequence = training.sequence.value_or(model.sequence);
  sizes.queries = sizes.sequence / sizes.cp;
  sizes.tokens = sizes.samples * sizes.queries;
  sizes.spread_tokens = sizes.sequence_parallel ? sizes.tokens / sizes.tp : sizes.tokens;
  sizes.vocabulary = padded_vocabulary(model.vocabulary, training.vocabulary_multiple, sizes.tp);
  return sizes;
}

LayerKind kind_of_layer(const Model& model, std::uint32_t layer) {
  if (!model.experts || layer < model.experts->first_dense) return LayerKind::dense;
  const std::uint32_t place = layer - model.experts->first_dense;
  return (place + 1) % model.experts->every == 0 ? LayerKind::experts : LayerKind::dense;
}

LayerKind kind_of_mtp(const Model& model) { return kind_of_layer(model, model.layers - 1); }

Linear mtp_projection(const Model& model, const Sizes& sizes) {
  return {.part = Part::mtp_projection,
          .tokens = sizes.tokens,
          .inputs = 2ULL * model.hidden,
          .outputs = model.hidden / sizes.tp,
          .gathers_input = true};
}

Layer layer_on_gpu(const Model& model, LayerKind kind, const Sizes& sizes) {
  Layer layer;
  add_attention(model, sizes, layer);
  if (kind == LayerKind::experts)
    add_experts(model, sizes, layer);
  else
    layer.mlp =
        add_mlp(model, {.ffn = model.ffn / sizes.tp, .tokens = sizes.tokens}, layer.mlp_linears);
  return layer;
}

std::vector<Linear> linears_of(const Layer& layer) {
  std::vector<Linear> all = layer.attention_linears;
  for (const auto* linears : {&layer.router, &layer.mlp_linears, &layer.expert_linears})
    all.insert(all.end(), linears->begin(), linears->end());
  return all;
}

Parameters layer_parameters(const Model& model, LayerKind kind, const Sizes& sizes) {
  Parameters parameters;
  parameters.dense = 2 * norm_parameters(model, model.hidden) + attention_parameters(model, sizes);
  if (kind == LayerKind::dense) {
    parameters.dense += mlp_parameters(model, model.ffn / sizes.tp);
    return parameters;
  }
  const Model::Experts& experts = *model.experts;
  parameters.dense += std::uint64_t{model.hidden} * experts.count;
  if (experts.shared > 0)
    parameters.dense +=
        mlp_parameters(model, std::uint64_t{experts.shared} * experts.shared_ffn / sizes.tp);
  parameters.experts = mlp_parameters(model, experts.ffn / sizes.etp) * (experts.count / sizes.ep);
  return parameters;
}

Parameters mtp_parameters(const Model& model, const Sizes& sizes) {
  Parameters parameters = layer_parameters(model, kind_of_mtp(model), sizes);
  const Linear projection = mtp_projection(model, sizes);
  parameters.dense +=
      projection.inputs * projection.outputs + 3 * norm_parameters(model, model.hidden);
  return parameters;
}

std::uint64_t embedding_parameters(const Model& model, const Sizes& sizes) {
  return sizes.vocabulary / sizes.tp * model.hidden;
}

std::uint64_t position_parameters(const Model& model, const Sizes& sizes) {
  return model.learned_positions ? static_cast<std::uint64_t>(sizes.sequence) * model.hidden : 0;
}

std::uint64_t head_parameters(const Model& model, const Sizes& sizes) {
  return norm_parameters(model, model.hidden) +
         (model.tied_embeddings ? 0 : embedding_parameters(model, sizes));
}

Parameters all_parameters(const Model& model) {
  const Sizes sizes = uncut_sizes(model, 1, model.sequence);
  Parameters all{.dense = embedding_parameters(model, sizes) + position_parameters(model, sizes) +
                          head_parameters(model, sizes)};
  for (std::uint32_t layer = 0; layer < model.layers; ++layer)
    all += layer_parameters(model, kind_of_layer(model, layer), sizes);
  for (std::uint32_t module = 0; module < model.mtp_layers; ++module)
    all += mtp_parameters(model, sizes);
  return all;
}

std::uint64_t parameter_count(const Model& model) { return all_parameters(model).all(); }

std::uint64_t active_parameter_count(const Model& model) {
  const Parameters all = all_parameters(model);
  if (!model.experts) return all.all();
  return all.dense + all.experts / model.experts->count * model.experts->top_k;
}

}  // namespace pipewright::workload
