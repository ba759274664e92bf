#include "sim/workload/shape/layer_kind.hpp"

#include <algorithm>
#include <array>

namespace pipewright::workload {
namespace {

using config::Model;

namespace symbols = config::layer_symbols;

struct KindRow {
  std::string_view symbols;  // symbols of the layer in config::Model::pattern
  std::string_view name;
  Mixer mixer;
  FeedForward feed_forward;
};
// Names and properties of the kinds of layers, in the order of LayerKind.
constexpr std::array<KindRow, layer_kinds> layer_kind_rows{{
    {"*-", "dense layer", Mixer::attention, FeedForward::dense},
    {"*E", "layer of experts", Mixer::attention, FeedForward::experts},
    {"S-", "dense sliding-window layer", Mixer::sliding, FeedForward::dense},
    {"SE", "sliding-window layer of experts", Mixer::sliding, FeedForward::experts},
    {"+-", "dense latent attention layer", Mixer::latent, FeedForward::dense},
    {"+E", "latent attention layer of experts", Mixer::latent, FeedForward::experts},
    {"M-", "dense Mamba layer", Mixer::mamba, FeedForward::dense},
    {"ME", "Mamba layer of experts", Mixer::mamba, FeedForward::experts},
    {"G-", "dense gated delta net", Mixer::linear, FeedForward::dense},
    {"GE", "gated delta net of experts", Mixer::linear, FeedForward::experts},
    {"D-", "dense indexed attention layer", Mixer::indexed, FeedForward::dense},
    {"DE", "indexed attention layer of experts", Mixer::indexed, FeedForward::experts},
    {"W-", "dense low-rank window layer", Mixer::window, FeedForward::dense},
    {"WE", "low-rank window layer of experts", Mixer::window, FeedForward::experts},
    {"I-", "dense compressed attention layer", Mixer::compressed, FeedForward::dense},
    {"IE", "compressed attention layer of experts", Mixer::compressed, FeedForward::experts},
    {"H-", "dense heavily compressed attention layer", Mixer::heavily_compressed,
     FeedForward::dense},
    {"HE", "heavily compressed attention layer of experts", Mixer::heavily_compressed,
     FeedForward::experts},
    {"P-", "dense attention and Mamba layer", Mixer::parallel, FeedForward::dense},
    {"PE", "attention and Mamba layer of experts", Mixer::parallel, FeedForward::experts},
    {"C-", "dense short convolution", Mixer::convolution, FeedForward::dense},
    {"CE", "short convolution of experts", Mixer::convolution, FeedForward::experts},
    {"*", "attention layer", Mixer::attention, FeedForward::none},
    {"S", "sliding-window layer", Mixer::sliding, FeedForward::none},
    {"+", "latent attention layer", Mixer::latent, FeedForward::none},
    {"M", "Mamba layer", Mixer::mamba, FeedForward::none},
    {"G", "gated delta net", Mixer::linear, FeedForward::none},
    {"D", "indexed attention layer", Mixer::indexed, FeedForward::none},
    {"W", "low-rank window layer", Mixer::window, FeedForward::none},
    {"I", "compressed attention layer", Mixer::compressed, FeedForward::none},
    {"H", "heavily compressed attention layer", Mixer::heavily_compressed, FeedForward::none},
    {"P", "attention and Mamba layer", Mixer::parallel, FeedForward::none},
    {"C", "short convolution", Mixer::convolution, FeedForward::none},
    {"-", "MLP layer", Mixer::none, FeedForward::dense},
    {"E", "layer of experts", Mixer::none, FeedForward::experts},
}};

const KindRow& layer_kind_row(LayerKind kind) {
  return layer_kind_rows[static_cast<std::size_t>(kind)];
}

LayerKind kind_of_symbols(std::string_view layer) {
  const auto* const row = std::ranges::find(layer_kind_rows, layer, &KindRow::symbols);
  return static_cast<LayerKind>(row - layer_kind_rows.begin());
}

}  // namespace

std::string_view name_of(LayerKind kind) { return layer_kind_row(kind).name; }

// Returns the token mixer of a kind of layer. A model without a pattern of layers has the same kind
// of attention in every layer, which may be latent attention.
Mixer mixer_of(const Model& model, LayerKind kind) {
  const Mixer mixer = layer_kind_row(kind).mixer;
  if (mixer != Mixer::attention || !model.latent || !model.pattern.empty()) return mixer;
  return model.indexer ? Mixer::indexed : Mixer::latent;
}

FeedForward feed_forward_of(LayerKind kind) { return layer_kind_row(kind).feed_forward; }

LayerKind kind_of_layer(const Model& model, std::uint32_t layer) {
  if (!model.pattern.empty()) return kind_of_symbols(model.pattern[layer]);
  if (!model.experts || layer < model.experts->first_dense) return LayerKind::dense;
  const std::uint32_t position = layer - model.experts->first_dense;
  return (position + 1) % model.experts->every == 0 ? LayerKind::experts : LayerKind::dense;
}

LayerKind kind_of_mtp(const Model& model) {
  if (model.pattern.empty()) return kind_of_layer(model, model.layers - 1);
  if (model.compressed) return model.experts ? LayerKind::window_experts : LayerKind::window_dense;
  if (model.has_layers(symbols::indexed))
    return model.experts ? LayerKind::indexed_experts : LayerKind::indexed_dense;
  if (model.has_layers(symbols::latent))
    return model.experts ? LayerKind::latent_experts : LayerKind::latent_dense;
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
