#include "sim/config/model_checks.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace pipewright::config {
namespace {

using Experts = Model::Experts;

// Returns the divisors of `whole` closest to `value` from below and above, as text: "4 or 8".
std::string nearest_divisors(std::uint32_t whole, std::uint32_t value) {
  std::uint32_t below = value < whole ? value : whole;
  while (whole % below != 0) --below;
  std::uint32_t above = value;
  while (above < whole && whole % above != 0) ++above;
  return above >= whole || above == below ? fmt::format("{}", below)
                                          : fmt::format("{} or {}", below, above);
}

// Creates an error at the location of a model's key, or at the model if the key is left out.
Error refusal(const Field& map, std::string_view key, std::string_view found) {
  const Value* const value = find(map.value, key);
  return Error(value != nullptr ? value->origin : map.value.origin, found,
               fmt::format("{}.{}", map.name, key));
}

// Sets the sizes of MLPs that differ from layer to layer, and the largest of them.
void complete_mlps(Model& model, const Field& field) {
  if (model.ffn_by_layer.empty()) return;
  const auto refuse = [&](const std::string& message) {
    return refusal(field, "ffn_by_layer", message);
  };
  if (model.ffn > 0) throw refuse("ffn and ffn_by_layer exclude each other");
  namespace symbols = layer_symbols;
  const auto is_other = [](const std::string& layer) {
    return layer.find_first_not_of({symbols::attention, symbols::mlp}) != std::string::npos;
  };
  if (model.experts || std::ranges::any_of(model.pattern, is_other))
    throw refuse("ffn_by_layer needs layers of attention and MLPs alone")
        .allow("a pattern of *, - and (*-)");
  const auto has_mlp = [](const std::string& layer) {
    return layer.find(symbols::mlp) != std::string::npos;
  };
  const auto mlps = model.pattern.empty() ? std::ptrdiff_t{model.layers}
                                          : std::ranges::count_if(model.pattern, has_mlp);
  if (std::ssize(model.ffn_by_layer) < mlps)
    throw refuse(fmt::format("ffn_by_layer has {} sizes, and {} layers have an MLP",
                             model.ffn_by_layer.size(), mlps));
  model.ffn_by_layer.resize(static_cast<std::size_t>(mlps));
  model.mlp_sizes = model.ffn_by_layer;
  std::ranges::sort(model.mlp_sizes, std::ranges::greater());
  const auto rest = std::ranges::unique(model.mlp_sizes);
  model.mlp_sizes.erase(rest.begin(), rest.end());
  if (model.mlp_sizes.empty()) return;
  if (model.mlp_sizes.size() > max_mlp_sizes)
    throw refuse(fmt::format("ffn_by_layer has {} different sizes", model.mlp_sizes.size()))
        .allow(fmt::format("1 to {}", max_mlp_sizes));
  model.ffn = model.mlp_sizes.front();
}

// Checks a model without a pattern of layers.
void check_without_pattern(const Model& model, const Field& field) {
  if (model.layers == 0)
    throw Error(field.value.origin, "layers is missing: number of layers, or a pattern of layers",
                "model.layers");
  for (const auto& [key, is_there] : {std::pair{"mamba", model.mamba.has_value()},
                                      {"linear_attention", model.linear_attention.has_value()},
                                      {"short_convolution", model.short_convolution.has_value()},
                                      {"sliding", model.sliding.has_value()},
                                      {"compressed", model.compressed.has_value()}})
    if (is_there)
      throw refusal(field, key,
                    fmt::format("{} needs pattern, which names the layers of that type", key));
}

// Sets the number of layers to that of the pattern.
void settle_layers(Model& model, const Field& field) {
  if (model.pattern.size() > max_layers)
    throw refusal(field, "pattern", fmt::format("pattern has more than {} layers", max_layers));
  const auto length = static_cast<std::uint32_t>(model.pattern.size());
  if (model.layers > length)
    throw refusal(field, "layers",
                  fmt::format("layers is {}, and pattern has {} layers", model.layers, length))
        .allow(fmt::format("1 to {}, the first layers of the pattern, or no layers", length));
  if (model.layers != 0) model.pattern.resize(model.layers);
  model.layers = static_cast<std::uint32_t>(model.pattern.size());
}

// Checks that the model has the sizes of every layer type in its pattern.
void check_layer_types(const Model& model, const Field& field) {
  const auto needs = [&](char symbol, std::string_view key, bool is_there) {
    if (model.has_layers(symbol) && !is_there)
      throw refusal(
          field, "pattern",
          fmt::format("pattern has layers of type {}, which need the key {}", symbol, key));
  };
  namespace symbols = layer_symbols;
  for (const char symbol : {symbols::mamba, symbols::parallel})
    needs(symbol, "mamba", model.mamba.has_value());
  for (const char symbol :
       {symbols::attention, symbols::sliding, symbols::latent, symbols::indexed, symbols::window,
        symbols::compressed, symbols::heavily_compressed, symbols::parallel})
    needs(symbol, "heads", model.heads > 0);
  needs(symbols::linear_attention, "linear_attention", model.linear_attention.has_value());
  needs(symbols::sliding, "sliding_window", model.sliding_window > 0);
  for (const char symbol : {symbols::latent, symbols::indexed})
    needs(symbol, "latent", model.latent.has_value());
  for (const char symbol : {symbols::indexed, symbols::compressed})
    needs(symbol, "indexer", model.indexer.has_value());
  for (const char symbol : {symbols::window, symbols::compressed, symbols::heavily_compressed}) {
    needs(symbol, "compressed", model.compressed.has_value());
    needs(symbol, "sliding_window", model.sliding_window > 0);
  }
  needs(symbols::short_convolution, "short_convolution", model.short_convolution.has_value());
  needs(symbols::experts, "experts", model.experts.has_value());
}

// Sets the number of layers from the pattern if there is one, and checks the layers.
void complete_pattern(Model& model, const Field& field) {
  if (model.pattern.empty()) return check_without_pattern(model, field);
  settle_layers(model, field);
  check_layer_types(model, field);
  if (model.full_attention_every > 0)
    throw refusal(field, "full_attention_every",
                  "full_attention_every and pattern, whose * and S say which layers have a sliding "
                  "window, exclude each other")
        .suggest("leave out one of them");
  if (model.experts && (model.experts->first_dense != 0 || model.experts->every != 1))
    throw refusal(
        field, "experts",
        "experts.first_dense and experts.every exclude pattern, whose E says which layers "
        "have experts")
        .suggest("leave them out");
  const auto check_groups = [&](std::string_view key, std::uint32_t heads, std::uint32_t parts) {
    if (heads % parts != 0)
      throw refusal(field, key,
                    fmt::format("{} has {} heads in {} groups, which does not divide them", key,
                                heads, parts))
          .allow(nearest_divisors(heads, parts));
  };
  if (model.mamba) check_groups("mamba", model.mamba->heads, model.mamba->groups);
  if (model.linear_attention)
    check_groups("linear_attention", model.linear_attention->value_heads,
                 model.linear_attention->key_heads);
}

// Checks that an indexer has what it needs: compressed queries.
void complete_indexer(Model& model, const Field& field) {
  if (!model.indexer || model.compressed) return;
  if (!model.latent || model.latent->query_rank == 0)
    throw refusal(field, "indexer",
                  "indexer needs latent attention with compressed queries (latent.query_rank), "
                  "from which it makes its own");
}

// Checks that compressed attention can divide its heads.
void complete_compressed(const Model& model, const Field& field) {
  if (!model.compressed || model.heads % model.compressed->output_groups == 0) return;
  throw refusal(field, "compressed",
                fmt::format("compressed.output_groups is {}, which does not divide the {} heads",
                            model.compressed->output_groups, model.heads))
      .allow(nearest_divisors(model.heads, model.compressed->output_groups));
}

// Sets the sizes of sliding-window layers that were left out to those of the other layers.
void complete_sliding(Model& model, const Field& field) {
  Model::Heads& sliding = *model.sliding;
  if (sliding.heads == 0) sliding.heads = model.heads;
  if (sliding.kv_heads == 0) sliding.kv_heads = model.kv_heads;
  if (sliding.value_head_dim == 0)
    sliding.value_head_dim = sliding.head_dim > 0 ? sliding.head_dim : model.value_size();
  if (sliding.head_dim == 0) sliding.head_dim = model.head_dim;
  if (sliding.heads % sliding.kv_heads != 0)
    throw refusal(field, "sliding",
                  fmt::format("sliding.kv_heads is {}, which does not divide the {} heads",
                              sliding.kv_heads, sliding.heads))
        .allow(nearest_divisors(sliding.heads, sliding.kv_heads));
}

}  // namespace

std::vector<std::string> approximations(const Model& model) {
  std::vector<std::string> notes;
  if (model.linear_attention && model.linear_attention->decay_rank > 0)
    notes.emplace_back(
        "linear_attention: the kernels of Kimi delta attention take the time of those of a gated "
        "delta net and the bytes of their decays");
  if (model.mamba && model.mamba->step_rank > 0)
    notes.emplace_back("mamba: the scan of Mamba-1 takes the time of its bytes");
  return notes;
}

namespace {

// Sets the numbers of heads that the model leaves out.
void complete_heads(Model& model, const Field& field) {
  if (model.heads == 0 && model.pattern.empty())
    throw Error(field.value.origin, "model.heads is missing: number of attention heads",
                "model.heads");
  // Tensor parallelism distributes heads: in models without attention, those of Mamba-2 or of the
  // gated delta nets.
  if (model.heads == 0 && model.mamba) model.heads = model.mamba->heads;
  if (model.heads == 0)
    model.heads = model.linear_attention ? model.linear_attention->value_heads : 1;
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.heads % model.kv_heads != 0)
    throw refusal(field, "kv_heads",
                  fmt::format("kv_heads is {}, which does not divide the {} heads", model.kv_heads,
                              model.heads))
        .allow(nearest_divisors(model.heads, model.kv_heads));
}

// Checks the groups, the capacity and the layers of the experts, and sets sizes that are left out.
void complete_experts(Model& model, const Field& field) {
  Experts& experts = *model.experts;
  const auto refuse = [&](std::string_view text) { return refusal(field, "experts", text); };
  if (experts.top_k > experts.count)
    throw refuse(fmt::format("experts.top_k is {} of {} experts", experts.top_k, experts.count))
        .allow(fmt::format("1 to {}", experts.count));
  if (experts.count % experts.groups != 0)
    throw refuse(fmt::format("experts.groups is {}, which does not divide the {} experts",
                             experts.groups, experts.count))
        .allow(nearest_divisors(experts.count, experts.groups));
  if (experts.top_groups == 0) experts.top_groups = experts.groups;
  const std::uint32_t fewest = (experts.top_k * experts.groups + experts.count - 1) / experts.count;
  if (experts.top_groups > experts.groups || experts.top_groups < fewest)
    throw refuse(
        fmt::format("experts.top_groups is {}, and a token has {} experts out of {} groups "
                    "of {}",
                    experts.top_groups, experts.top_k, experts.groups,
                    experts.count / experts.groups))
        .allow(fmt::format("{} to {}", fewest, experts.groups));
  if (experts.capacity_factor > experts.count)
    throw refuse(fmt::format("experts.capacity_factor is {:.4g}, and one expert of {} receives at "
                             "most {} times the mean",
                             *experts.capacity_factor, experts.count, experts.count))
        .allow(fmt::format("1 to {}", experts.count));
  if (experts.first_dense > model.layers)
    throw refuse(
        fmt::format("experts.first_dense is {} of {} layers", experts.first_dense, model.layers))
        .allow(fmt::format("0 to {}", model.layers));
  if (experts.shared_ffn == 0) experts.shared_ffn = experts.ffn;
}

}  // namespace

void complete(Model& model, const Field& field) {
  const auto refuse = [&](std::string_view key, std::string_view text) {
    return refusal(field, key, text);
  };
  complete_pattern(model, field);
  complete_mlps(model, field);
  if (model.full_attention_every > 0 && model.sliding_window == 0)
    throw refuse("full_attention_every",
                 "full_attention_every needs sliding_window, the window of the other layers");
  complete_heads(model, field);
  if (model.qk_layernorm && model.latent)
    throw refuse("latent",
                 "qk_layernorm is true, and latent attention normalises its compressed vectors "
                 "instead")
        .allow("false");
  complete_indexer(model, field);
  complete_compressed(model, field);
  if (model.output_gate && model.latent && model.indexer)
    throw refuse("indexer", "output_gate is true, and sparse latent attention has no gate")
        .allow("false");
  const bool attends = model.pattern.empty() || model.has_layers(layer_symbols::attention) ||
                       model.has_layers(layer_symbols::sliding) ||
                       model.has_layers(layer_symbols::parallel);
  if (model.head_dim == 0 && !model.latent && attends && model.hidden % model.heads != 0)
    throw refuse("heads", fmt::format("heads is {}, which does not divide hidden ({})", model.heads,
                                      model.hidden))
        .allow(fmt::format("{} heads, or a head_dim", nearest_divisors(model.hidden, model.heads)));
  if (model.head_dim == 0) model.head_dim = std::max(1U, model.hidden / model.heads);
  if (model.sliding) complete_sliding(model, field);
  if (model.short_convolution && model.short_convolution->channels == 0)
    model.short_convolution->channels = model.hidden;
  const bool has_mlps = model.pattern.empty() ? !model.experts || model.experts->first_dense != 0 ||
                                                    model.experts->every != 1
                                              : model.has_layers(layer_symbols::mlp);
  if (model.ffn == 0 && model.gated && has_mlps)
    throw refuse("mlp", "ffn is missing: a swiglu MLP has no usual hidden size");
  if (model.ffn == 0) model.ffn = 4 * model.hidden;
  if (model.experts) complete_experts(model, field);
}

}  // namespace pipewright::config
