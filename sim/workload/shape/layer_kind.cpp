#include "sim/workload/shape/layer_kind.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

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
constexpr std::array<KindRow, named_layer_kinds> layer_kind_rows{{
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

// Returns how many sizes of the model's MLPs are larger than that of a kind of layer.
std::size_t larger_mlps(LayerKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  return number < named_layer_kinds ? 0 : 1 + (number - named_layer_kinds) / 2;
}

// Returns the kind of the enumeration that is like this one, but for the size of its MLP.
LayerKind named_kind(LayerKind kind) {
  if (larger_mlps(kind) == 0) return kind;
  const std::size_t of_smaller = static_cast<std::size_t>(kind) - named_layer_kinds;
  return of_smaller % 2 == 0 ? LayerKind::dense : LayerKind::mlp;
}

LayerKind with_smaller_mlp(LayerKind kind, std::size_t larger) {
  if (larger == 0) return kind;
  const std::size_t of_size = kind == LayerKind::mlp ? 1 : 0;
  return static_cast<LayerKind>(named_layer_kinds + 2 * (larger - 1) + of_size);
}

const KindRow& layer_kind_row(LayerKind kind) {
  return layer_kind_rows[static_cast<std::size_t>(named_kind(kind))];
}

LayerKind kind_of_symbols(std::string_view layer) {
  const auto* const row = std::ranges::find(layer_kind_rows, layer, &KindRow::symbols);
  return static_cast<LayerKind>(row - layer_kind_rows.begin());
}

// Returns the names of all kinds: "dense layer", and "dense layer, MLP size 2" for smaller MLPs.
std::array<std::string, layer_kinds> kind_names() {
  std::array<std::string, layer_kinds> names;
  for (std::size_t number = 0; number < layer_kinds; ++number) {
    const auto kind = static_cast<LayerKind>(number);
    names[number] = layer_kind_row(kind).name;
    if (const std::size_t larger = larger_mlps(kind); larger > 0)
      names[number] += fmt::format(", MLP size {}", larger + 1);
  }
  return names;
}

LayerKind named_kind_of_layer(const Model& model, std::uint32_t layer) {
  if (!model.pattern.empty()) return kind_of_symbols(model.pattern[layer]);
  if (!model.experts || layer < model.experts->first_dense) return LayerKind::dense;
  const std::uint32_t position = layer - model.experts->first_dense;
  return (position + 1) % model.experts->every == 0 ? LayerKind::experts : LayerKind::dense;
}

}  // namespace

std::string_view name_of(LayerKind kind) {
  static const std::array<std::string, layer_kinds> names = kind_names();
  return names[static_cast<std::size_t>(kind)];
}

std::uint32_t ffn_of(const Model& model, LayerKind kind) {
  return model.mlp_sizes.empty() ? model.ffn : model.mlp_sizes[larger_mlps(kind)];
}

// Returns the token mixer of a kind of layer. A model without a pattern of layers has the same kind
// of attention in every layer, which may be latent attention.
Mixer mixer_of(const Model& model, LayerKind kind) {
  const Mixer mixer = layer_kind_row(kind).mixer;
  if (mixer != Mixer::attention || !model.latent || !model.pattern.empty()) return mixer;
  return model.indexer ? Mixer::indexed : Mixer::latent;
}

FeedForward feed_forward_of(LayerKind kind) { return layer_kind_row(kind).feed_forward; }

LayerKind kind_of_layer(const Model& model, std::uint32_t layer) {
  const LayerKind kind = named_kind_of_layer(model, layer);
  if (model.mlp_sizes.empty() || feed_forward_of(kind) == FeedForward::none) return kind;
  std::size_t mlp = layer;  // number of the layer's MLP
  if (!model.pattern.empty())
    mlp = static_cast<std::size_t>(
        std::count_if(model.pattern.begin(), model.pattern.begin() + layer,
                      [](const std::string& symbols_of_layer) {
                        return symbols_of_layer.find(symbols::mlp) != std::string::npos;
                      }));
  const auto size = std::ranges::find(model.mlp_sizes, model.ffn_by_layer[mlp]);
  return with_smaller_mlp(kind, static_cast<std::size_t>(size - model.mlp_sizes.begin()));
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
