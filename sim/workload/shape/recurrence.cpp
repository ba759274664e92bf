#include "sim/workload/shape/recurrence.hpp"

#include <algorithm>

namespace pipewright::workload {
namespace {

using config::Model;

// Widths of the tensors in a Mamba layer on one GPU, in elements per token.
struct MambaWidths {
  std::uint64_t heads, values, grouped, channels, projected;
  std::uint64_t selected;  // steps of low rank, B and C of Mamba-1, which a product makes of x
};
MambaWidths widths_of(const Model::Mamba& mamba, std::uint32_t tp) {
  const std::uint64_t heads = mamba.heads / tp;
  const std::uint64_t values = heads * mamba.head_dim;
  // B; C has the same width
  const std::uint64_t grouped = std::uint64_t{mamba.groups} * mamba.state / tp;
  if (mamba.step_rank > 0)
    return {.heads = heads,
            .values = values,
            .grouped = grouped,
            .channels = values,
            .projected = 2 * values,  // gate and x
            .selected = mamba.step_rank + 2 * grouped};
  const std::uint64_t channels = values + 2 * grouped;
  return {.heads = heads,
          .values = values,
          .grouped = grouped,
          .channels = channels,
          .projected = values + channels + heads,  // gate, x, B and C, and a step per head
          .selected = 0};
}

// Widths of the tensors in a gated delta net on one GPU, in elements per token.
struct DeltaWidths {
  std::uint64_t heads, keys, values, channels, projected;
  std::uint64_t decays;  // of each channel of a key of each head; 0: one of each head
};
DeltaWidths widths_of(const Model::LinearAttention& linear, std::uint32_t tp) {
  const std::uint64_t heads = linear.value_heads / tp;
  const std::uint64_t keys = std::uint64_t{linear.key_heads} * linear.key_head_dim / tp;
  const std::uint64_t values = heads * linear.value_head_dim;
  const std::uint64_t channels = 2 * keys + values;
  const std::uint64_t gates = linear.gate_rank > 0 ? 0 : values;
  const std::uint64_t strengths_and_decays = (linear.decay_rank > 0 ? 1 : 2) * heads;
  return {.heads = heads,
          .keys = keys,
          .values = values,
          .channels = channels,
          .projected = channels + gates + strengths_and_decays,
          .decays = linear.decay_rank > 0 ? heads * linear.key_head_dim : 0};
}

// Adds two products with a vector of a low rank between them, which no rank splits.
void add_low_rank(std::uint64_t inputs, std::uint64_t rank, std::uint64_t outputs,
                  const Sizes& sizes, Layer& layer) {
  layer.attention_linears.push_back({Part::recurrence, sizes.tokens, inputs, rank});
  layer.attention_linears.push_back({Part::recurrence, sizes.tokens, rank, outputs});
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
  if (mamba.step_rank > 0) {
    layer.attention_linears.push_back(
        {Part::recurrence, sizes.tokens, widths.values, widths.selected});
    layer.attention_linears.push_back(
        {Part::recurrence, sizes.tokens, mamba.step_rank, widths.values});
    // The FLOP of the scan are those of mamba_ssm's reference (selective_scan_ref): 9 for each
    // element of the state.
    layer.recurrence = {.tokens = sizes.tokens,
                        .projected = static_cast<double>(widths.projected),
                        .channels = static_cast<double>(widths.channels),
                        .values = values,
                        .derived = static_cast<double>(widths.selected) + values,
                        .keys = grouped,
                        .flops = 9 * values * mamba.state};
    return;
  }
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
  std::uint64_t derived = 0;
  if (linear.decay_rank > 0) {
    add_low_rank(hidden, linear.decay_rank, widths.decays, sizes, layer);
    derived += linear.decay_rank + widths.decays;
  }
  if (linear.gate_rank > 0) {
    add_low_rank(hidden, linear.gate_rank, widths.values, sizes, layer);
    derived += linear.gate_rank + widths.values;
  }
  layer.recurrence = {
      .tokens = sizes.tokens,
      .projected = static_cast<double>(widths.projected),
      .channels = static_cast<double>(widths.channels),
      .values = values,
      .derived = static_cast<double>(derived),
      .keys = heads * linear.key_head_dim,  // keys are repeated for each head of values
      .scores = heads * delta_chunk,
      .states = values * linear.key_head_dim / delta_chunk,
      // FLOP as in gdn_layer_flops of the same file: four products with a head's state.
      .flops = 2 * 4 * values * linear.key_head_dim};
}

void add_short_convolution(const Model::ShortConvolution& convolution, std::uint32_t hidden,
                           const Sizes& sizes, Layer& layer) {
  const std::uint64_t channels = convolution.channels / sizes.tp;
  add_products(hidden, sizes, 3 * channels, channels, layer);
  layer.recurrence = {.tokens = sizes.tokens,
                      .projected = 3.0 * static_cast<double>(channels),
                      .channels = static_cast<double>(channels),
                      .values = static_cast<double>(channels)};
}

// Counts the parameters of the projections, of the convolution with its bias, of the decay, skip
// and step of each head, and of the norm. Each channel of Mamba-1 has a decay for each element of
// its state, a skip, and the bias of its step.
std::uint64_t mamba_parameters(const Model::Mamba& mamba, std::uint32_t hidden, std::uint32_t tp) {
  const MambaWidths widths = widths_of(mamba, tp);
  const std::uint64_t products = hidden * widths.projected + widths.values * hidden;
  const std::uint64_t convolution = widths.channels * (mamba.conv + 1);
  if (mamba.step_rank > 0)
    return products + convolution + widths.values * (widths.selected + mamba.step_rank) +
           widths.values * (mamba.state + 2) + (mamba.norm ? widths.selected : 0);
  return products + convolution + 3 * widths.heads + (mamba.norm ? widths.values : 0);
}

// Counts the parameters of a gated delta net. Its convolution has no bias, and all heads share one
// norm. A decay per channel has a bias per channel.
std::uint64_t linear_attention_parameters(const Model::LinearAttention& linear,
                                          std::uint32_t hidden, std::uint32_t tp) {
  const DeltaWidths widths = widths_of(linear, tp);
  const std::uint64_t gates = linear.gate_rank > 0 ? widths.values : 0;
  return hidden * widths.projected + widths.values * hidden + widths.channels * linear.conv +
         linear.decay_rank * (hidden + widths.decays) + linear.gate_rank * (hidden + gates) +
         widths.heads + std::max(widths.heads, widths.decays) + linear.value_head_dim;
}

// Counts the parameters of both projections and of the convolution of each channel.
std::uint64_t short_convolution_parameters(const Model::ShortConvolution& convolution,
                                           std::uint32_t hidden, std::uint32_t tp) {
  const std::uint64_t channels = convolution.channels / tp;
  const std::uint64_t biases = convolution.bias ? 4 * channels + hidden : 0;
  return channels * (4ULL * hidden + convolution.width) + biases;
}

}  // namespace pipewright::workload
