#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/config/model.hpp"
#include "sim/config/model_checks.hpp"

// Kinds of layers, which differ in how they mix tokens and in their feed-forward part.
namespace pipewright::workload {

// Kind of a layer, by its token mixer and its feed-forward part. A transformer layer has attention
// and an MLP or experts. A layer of a hybrid model may have only one of the two, or another mixer.
enum class LayerKind : std::uint8_t {
  dense,
  experts,
  sliding_dense,
  sliding_experts,
  latent_dense,
  latent_experts,
  mamba_dense,
  mamba_experts,
  linear_dense,
  linear_experts,
  indexed_dense,
  indexed_experts,
  window_dense,
  window_experts,
  compressed_dense,
  compressed_experts,
  heavy_dense,
  heavy_experts,
  parallel_dense,
  parallel_experts,
  convolution_dense,
  convolution_experts,
  attention,
  sliding_attention,
  latent_attention,
  mamba,
  linear_attention,
  indexed_attention,
  window_attention,
  compressed_attention,
  heavy_attention,
  parallel,
  convolution,
  mlp,
  experts_alone,
};
// Kinds of the enumeration. Further kinds follow, with smaller MLPs than the largest of the model:
// for each size one of layers of attention and an MLP, and one of layers of an MLP alone.
inline constexpr std::size_t named_layer_kinds = 35;
inline constexpr std::size_t layer_kinds = named_layer_kinds + 2 * (config::max_mlp_sizes - 1);
enum class Mixer : std::uint8_t {
  none,
  attention,
  sliding,
  latent,
  indexed,  // latent attention with an indexer
  // Compressed attention: to a window, and to compressed keys that an indexer chooses, or to all.
  window,
  compressed,
  heavily_compressed,
  parallel,  // attention and Mamba, whose results are added
  mamba,
  linear,
  convolution,  // a short convolution
};
constexpr bool is_latent(Mixer mixer) { return mixer == Mixer::latent || mixer == Mixer::indexed; }
constexpr bool is_compressed(Mixer mixer) {
  return Mixer::window <= mixer && mixer <= Mixer::heavily_compressed;
}
// Returns whether attention makes its queries from vectors of low rank.
constexpr bool has_low_rank(Mixer mixer) { return is_latent(mixer) || is_compressed(mixer); }
constexpr bool has_indexer(Mixer mixer) {
  return mixer == Mixer::indexed || mixer == Mixer::compressed;
}
constexpr bool has_attention(Mixer mixer) {
  return Mixer::attention <= mixer && mixer <= Mixer::parallel;
}
constexpr bool has_recurrence(Mixer mixer) { return mixer >= Mixer::parallel; }
constexpr bool has_mamba(Mixer mixer) { return mixer == Mixer::mamba || mixer == Mixer::parallel; }
enum class FeedForward : std::uint8_t { none, dense, experts };

std::string_view name_of(LayerKind kind);
Mixer mixer_of(const config::Model& model, LayerKind kind);
FeedForward feed_forward_of(LayerKind kind);
// Returns the hidden size of the MLP in a kind of layer that has one.
std::uint32_t ffn_of(const config::Model& model, LayerKind kind);
inline bool has_experts(LayerKind kind) { return feed_forward_of(kind) == FeedForward::experts; }
LayerKind kind_of_layer(const config::Model& model, std::uint32_t layer);
// Returns the kind of the layer in a multi-token prediction module: the kind of the model's last
// layer or, in a hybrid model, attention (latent if the model has such layers) with experts (or an
// MLP if it has none).
LayerKind kind_of_mtp(const config::Model& model);
// Returns the kinds of layers that the model has, each kind once.
std::vector<LayerKind> kinds_of(const config::Model& model);

// Returns an array, indexed by kind, with of_kind(kind) for each kind of layer that the model has
// and a default value for all others.
template <class OfKind>
auto by_kind(const config::Model& model, const OfKind& of_kind) {
  std::array<decltype(of_kind(LayerKind::dense)), layer_kinds> kinds{};
  for (const LayerKind kind : kinds_of(model))
    kinds[static_cast<std::size_t>(kind)] = of_kind(kind);
  return kinds;
}

}  // namespace pipewright::workload
