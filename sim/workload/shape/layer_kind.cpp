#include "sim/workload/shape/layer_kind.hpp"

#include <string>

namespace pipewright::workload {
namespace {

using config::Model;

// What a symbol of a pattern stands for.
LayerKind kind_of_symbol(char symbol) {
  namespace symbols = config::layer_symbols;
  switch (symbol) {
    case symbols::mamba:
      return LayerKind::mamba;
    case symbols::linear_attention:
      return LayerKind::linear_attention;
    case symbols::sliding:
      return LayerKind::sliding_attention;
    case symbols::latent:
      return LayerKind::latent_attention;
    case symbols::mlp:
      return LayerKind::mlp;
    case symbols::experts:
      return LayerKind::experts_alone;
    default:
      return LayerKind::attention;
  }
}

// In the order of the enumeration.
constexpr std::array<std::string_view, layer_kinds> kind_names{"dense layer",
                                                               "layer of experts",
                                                               "attention layer",
                                                               "sliding-window layer",
                                                               "latent attention layer",
                                                               "Mamba-2 layer",
                                                               "gated delta net",
                                                               "MLP layer",
                                                               "layer of experts"};

}  // namespace

std::string_view name_of(LayerKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

Mixer mixer_of(const Model& model, LayerKind kind) {
  namespace symbols = config::layer_symbols;
  switch (kind) {
    case LayerKind::attention:
      return Mixer::attention;
    case LayerKind::sliding_attention:
      return Mixer::sliding;
    case LayerKind::latent_attention:
      return Mixer::latent;
    case LayerKind::mamba:
      return Mixer::mamba;
    case LayerKind::linear_attention:
      return Mixer::linear;
    case LayerKind::mlp:
    case LayerKind::experts_alone:
      return Mixer::none;
    case LayerKind::dense:
    case LayerKind::experts:
      break;
  }
  const bool is_latent =
      model.pattern.empty() || model.pattern.find(symbols::latent) != std::string::npos;
  return model.latent && is_latent ? Mixer::latent : Mixer::attention;
}

FeedForward feed_forward_of(LayerKind kind) {
  switch (kind) {
    case LayerKind::dense:
    case LayerKind::mlp:
      return FeedForward::dense;
    case LayerKind::experts:
    case LayerKind::experts_alone:
      return FeedForward::experts;
    default:
      return FeedForward::none;
  }
}

LayerKind kind_of_layer(const Model& model, std::uint32_t layer) {
  if (!model.pattern.empty()) return kind_of_symbol(model.pattern[layer]);
  if (!model.experts || layer < model.experts->first_dense) return LayerKind::dense;
  const std::uint32_t place = layer - model.experts->first_dense;
  return (place + 1) % model.experts->every == 0 ? LayerKind::experts : LayerKind::dense;
}

LayerKind kind_of_mtp(const Model& model) {
  if (model.pattern.empty()) return kind_of_layer(model, model.layers - 1);
  return model.experts ? LayerKind::experts : LayerKind::dense;
}

std::vector<LayerKind> kinds_of(const Model& model) {
  std::array<bool, layer_kinds> has{};
  for (std::uint32_t layer = 0; layer < model.layers; ++layer)
    has[static_cast<std::size_t>(kind_of_layer(model, layer))] = true;
  std::vector<LayerKind> kinds;
  for (std::size_t kind = 0; kind < layer_kinds; ++kind)
    if (has[kind]) kinds.push_back(static_cast<LayerKind>(kind));
  return kinds;
}

}  // namespace pipewright::workload
