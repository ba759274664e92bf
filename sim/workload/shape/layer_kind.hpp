#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/config/model.hpp"

// What the layers of a model are.
namespace pipewright::workload {

// A transformer's layers mix tokens by attention and go through an MLP or experts; a hybrid's do
// one or the other, or mix tokens in their own way.
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
  attention,
  sliding_attention,
  latent_attention,
  mamba,
  linear_attention,
  mlp,
  experts_alone,
};
inline constexpr std::size_t layer_kinds = 17;
enum class Mixer : std::uint8_t { none, attention, sliding, latent, mamba, linear };
enum class FeedForward : std::uint8_t { none, dense, experts };

std::string_view name_of(LayerKind kind);
Mixer mixer_of(const config::Model& model, LayerKind kind);
FeedForward feed_forward_of(LayerKind kind);
inline bool has_experts(LayerKind kind) { return feed_forward_of(kind) == FeedForward::experts; }
LayerKind kind_of_layer(const config::Model& model, std::uint32_t layer);
// As the last layer; of a hybrid a whole layer of attention and experts, or an MLP.
LayerKind kind_of_mtp(const config::Model& model);
std::vector<LayerKind> kinds_of(const config::Model& model);  // of its layers, each once

// What `of_kind` says of each kind of layer that the model has.
template <class OfKind>
auto by_kind(const config::Model& model, const OfKind& of_kind) {
  std::array<decltype(of_kind(LayerKind::dense)), layer_kinds> kinds{};
  for (const LayerKind kind : kinds_of(model))
    kinds[static_cast<std::size_t>(kind)] = of_kind(kind);
  return kinds;
}

}  // namespace pipewright::workload
