#include "sim/rl/decode_model.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/workload/shape/shape.hpp"

namespace pipewright::rl {
namespace {

// Numbers of layers whose attention sees all tokens, and of those whose attention sees a window.
struct AttentionLayers {
  double full = 0;
  double windowed = 0;
};

AttentionLayers attention_layers(const config::Model& model) {
  namespace symbols = config::layer_symbols;
  AttentionLayers layers;
  if (!model.pattern.empty()) {
    for (const std::string& layer : model.pattern)
      if (layer.find(symbols::sliding) != std::string::npos)
        ++layers.windowed;
      else if (layer.find_first_of("*+") != std::string::npos)
        ++layers.full;
    return layers;
  }
  if (model.sliding_window == 0) return {.full = double(model.layers)};
  if (model.full_attention_every > 0)
    layers.full = std::floor(model.layers / double(model.full_attention_every));
  layers.windowed = model.layers - layers.full;
  return layers;
}

// Returns the part of a model whose cache is not modelled; empty if there is none.
std::string_view unmodelled(const config::Model& model) {
  namespace symbols = config::layer_symbols;
  if (model.compressed || model.indexer) return "sparse attention";
  for (const char symbol : {symbols::mamba, symbols::linear_attention, symbols::parallel})
    if (model.has_layers(symbol)) return "the state of recurrent layers";
  return "";
}

// Bytes of the keys and values of a token in one layer, on one GPU of an engine.
double layer_cache_bytes(const config::Model& model, std::uint32_t tp) {
  // Every GPU has the whole compressed vector of latent attention.
  if (model.latent) return bf16_bytes * (model.latent->kv_rank + model.latent->rope_head_dim);
  const double heads = std::max(1.0, static_cast<double>(model.kv_heads) / tp);
  return bf16_bytes * heads * (model.head_dim + (model.keys_as_values ? 0 : model.value_size()));
}

}  // namespace

double expert_weight_bytes(const config::Model& model) {
  if (!model.experts || model.experts->count <= model.experts->top_k) return 0;
  const double idle = static_cast<double>(workload::parameter_count(model)) -
                      static_cast<double>(workload::active_parameter_count(model));
  return bf16_bytes * idle * model.experts->count / (model.experts->count - model.experts->top_k);
}

double dense_weight_bytes(const config::Model& model) {
  return bf16_bytes * static_cast<double>(workload::parameter_count(model)) -
         expert_weight_bytes(model);
}

DecodeCost decode_cost(const config::Model& model, const config::Gpu& gpu,
                       const config::PostTraining::Rollout& rollout, double collectives) {
  const std::uint32_t tp = rollout.tp.value;
  const std::string_view part = unmodelled(model);
  if (!part.empty() && rollout.table.empty())
    throw config::Error({}, fmt::format("generation with {}: {} is not modelled", model.name, part))
        .suggest("give measured points: rl.rollout.table");
  // A token looks up one row of the embedding.
  const double embedding =
      model.tied_embeddings ? 0 : static_cast<double>(model.vocabulary) * model.hidden;
  const AttentionLayers layers = attention_layers(model);
  const double layer_bytes = layer_cache_bytes(model, tp);
  DecodeCost cost{
      .weight_bytes = (dense_weight_bytes(model) - bf16_bytes * embedding) / tp,
      .expert_bytes = expert_weight_bytes(model) / tp,
      .experts = model.experts ? model.experts->count : 0,
      .top_k = model.experts ? model.experts->top_k : 1,
      .bytes_per_token = layers.full * layer_bytes,
      .bytes_per_sequence = layers.windowed * layer_bytes * model.sliding_window,
      .flop_per_token =
          2 * (static_cast<double>(workload::active_parameter_count(model)) - embedding) / tp,
      .bandwidth = gpu.memory_bandwidth * gpu.memory_efficiency,
      .flops = gpu.products.bf16->flops * gpu.products.bf16->efficiency * gpu.clock.products,
      .overhead = rollout.step_overhead + collectives,
      .table = rollout.table,
  };
  cost.prefill_per_token = cost.flop_per_token / cost.flops;
  return cost;
}

double cache_tokens(const DecodeCost& cost, const config::Gpu& gpu,
                    const config::PostTraining::Rollout& rollout) {
  const double memory = rollout.memory * static_cast<double>(gpu.memory);
  const double weights = cost.weight_bytes + cost.expert_bytes;
  const double windows = cost.bytes_per_sequence * rollout.max_sequences;
  if (weights >= memory)
    throw config::Error(
        rollout.tp.origin,
        fmt::format("rl.rollout: weights take {:.1f} of {:.1f} GiB of each GPU of an "
                    "engine of {}",
                    weights / 0x1p30, memory / 0x1p30, rollout.tp.value))
        .suggest("use engines of more GPUs: rl.rollout.tp");
  if (cost.bytes_per_token == 0) return 0;
  return std::max(1.0, (memory - weights - windows) / cost.bytes_per_token);
}

}  // namespace pipewright::rl
