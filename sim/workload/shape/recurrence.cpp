#include "sim/workload/shape/recurrence.hpp"

namespace pipewright::workload {
namespace {

using config::Model;

// Widths of the tensors in a Mamba-2 layer on one GPU, in elements per token.
struct MambaWidths {
  std::uint64_t heads, values, grouped, channels, projected;
};
MambaWidths widths_of(const Model::Mamba& mamba, std::uint32_t tp) {
  const std::uint64_t heads = mamba.heads / tp;
  const std::uint64_t values = heads * mamba.head_dim;
  // B; C has the same width
  const std::uint64_t grouped = std::uint64_t{mamba.groups} * mamba.state / tp;
  const std::uint64_t channels = values + 2 * grouped;
  return {.heads = heads,
          .values = values,
          .grouped = grouped,
          .channels = channels,
          .projected = values + channels + heads};  // gate, x, B and C, and a step per head
}

// Widths of the tensors in a gated delta net on one GPU, in elements per token.
struct DeltaWidths {
  std::uint64_t heads, keys, values, channels, projected;
};
DeltaWidths widths_of(const Model::LinearAttention& linear, std::uint32_t tp) {
  const std::uint64_t heads = linear.value_heads / tp;
  const std::uint64_t keys = std::uint64_t{linear.key_heads} * linear.key_head_dim / tp;
  const std::uint64_t values = heads * linear.value_head_dim;
  const std::uint64_t channels = 2 * keys + values;
  return {.heads = heads,
          .keys = keys,
          .values = values,
          .channels = channels,
          .projected = channels + values + 2 * heads};  // and gates; decay and strength per head
}

void add_products(std::uint32_t hidden, const Sizes& sizes, std::uint64_t projected,
                  std::uint64_t values, Layer& layer) {
  layer.attention_linears.push_back({.part = Part::recurrence_in,
                                     .tokens = sizes.tokens,
                                     .inputs = hidden,
                                     .outputs = projected,
                                     .gathers_input = true});
  layer.attention_linears.push_back({.part = Part::recurrence_out,
                                     .tokens = sizes.tokens,
                                     .inputs = values,
                                     .outputs = hidden,
                                     .scatters_output = true});
}

}  // namespace

void add_mamba(const Model::Mamba& mamba, std::uint32_t hidden, const Sizes& sizes, Layer& layer) {
  const MambaWidths widths = widths_of(mamba, sizes.tp);
  const auto values = static_cast<double>(widths.values);
  const auto grouped = static_cast<double>(widths.grouped);
  add_products(hidden, sizes, widths.projected, widths.values, layer);
  layer.recurrence = {
      .tokens = sizes.tokens,
      .projected = static_cast<double>(widths.projected),
      .channels = static_cast<double>(widths.channels),
      .values = values,
      .keys = grouped,
      .scores = grouped / mamba.state * mamba_chunk,
      .states = values * mamba.state / mamba_chunk,
      // FLOP as in mamba_layer_flops of Megatron-LM's megatron/training/training.py.
      .flops = 7 * values * mamba.state};
}

void add_linear_attention(const Model::LinearAttention& linear, std::uint32_t hidden,
                          const Sizes& sizes, Layer& layer) {
  const DeltaWidths widths = widths_of(linear, sizes.tp);
  const auto heads = static_cast<double>(widths.heads);
  const auto values = static_cast<double>(widths.values);
  add_products(hidden, sizes, widths.projected, widths.values, layer);
  layer.recurrence = {
      .tokens = sizes.tokens,
      .projected = static_cast<double>(widths.projected),
      .channels = static_cast<double>(widths.channels),
      .values = values,
      .keys = heads * linear.key_head_dim,  // keys are repeated for each head of values
      .scores = heads * delta_chunk,
      .states = values * linear.key_head_dim / delta_chunk,
      // FLOP as in gdn_layer_flops of the same file: four products with a head's state.
      .flops = 2 * 4 * values * linear.key_head_dim};
}

// Counts the parameters of the projections, of the convolution with its bias, of the decay, skip
// and step of each head, and of the norm.
std::uint64_t mamba_parameters(const Model::Mamba& mamba, std::uint32_t hidden, std::uint32_t tp) {
  const MambaWidths widths = widths_of(mamba, tp);
  return hidden * widths.projected + widths.values * hidden + widths.channels * (mamba.conv + 1) +
         3 * widths.heads + widths.values;
}

// Counts the parameters of a gated delta net. Its convolution has no bias, and all heads share one
// norm.
std::uint64_t linear_attention_parameters(const Model::LinearAttention& linear,
                                          std::uint32_t hidden, std::uint32_t tp) {
  const DeltaWidths widths = widths_of(linear, tp);
  return hidden * widths.projected + widths.values * hidden + widths.channels * linear.conv +
         2 * widths.heads + linear.value_head_dim;
}

}  // namespace pipewright::workload
