#include "sim/workload/shape/recurrence.hpp"

namespace pipewright::workload {
namespace {

using config::Model;

// Of one GPU, in elements of a token.
struct MambaSizes {
  std::uint64_t heads, values, grouped, channels, taken;
};
MambaSizes sizes_of(const Model::Mamba& mamba, std::uint32_t tp) {
  const std::uint64_t heads = mamba.heads / tp;
  const std::uint64_t values = heads * mamba.head_dim;
  const std::uint64_t grouped = std::uint64_t{mamba.groups} * mamba.state / tp;  // B, and C
  const std::uint64_t channels = values + 2 * grouped;
  return {.heads = heads,
          .values = values,
          .grouped = grouped,
          .channels = channels,
          .taken = values + channels + heads};  // gates, x, B and C, steps
}

struct DeltaSizes {
  std::uint64_t heads, keys, values, channels, taken;
};
DeltaSizes sizes_of(const Model::LinearAttention& linear, std::uint32_t tp) {
  const std::uint64_t heads = linear.value_heads / tp;
  const std::uint64_t keys = std::uint64_t{linear.key_heads} * linear.key_head_dim / tp;
  const std::uint64_t values = heads * linear.value_head_dim;
  const std::uint64_t channels = 2 * keys + values;
  return {.heads = heads,
          .keys = keys,
          .values = values,
          .channels = channels,
          .taken = channels + values + 2 * heads};  // gates; decay and strength of each head
}

void add_products(std::uint32_t hidden, const Sizes& sizes, std::uint64_t taken,
                  std::uint64_t values, Layer& layer) {
  layer.attention_linears.push_back({.part = Part::recurrence_in,
                                     .tokens = sizes.tokens,
                                     .inputs = hidden,
                                     .outputs = taken,
                                     .gathers_input = true});
  layer.attention_linears.push_back({.part = Part::recurrence_out,
                                     .tokens = sizes.tokens,
                                     .inputs = values,
                                     .outputs = hidden,
                                     .scatters_output = true});
}

}  // namespace

void add_mamba(const Model::Mamba& mamba, std::uint32_t hidden, const Sizes& sizes, Layer& layer) {
  const MambaSizes of = sizes_of(mamba, sizes.tp);
  const auto values = static_cast<double>(of.values);
  const auto grouped = static_cast<double>(of.grouped);
  add_products(hidden, sizes, of.taken, of.values, layer);
  layer.recurrence = {.tokens = sizes.tokens,
                      .taken = static_cast<double>(of.taken),
                      .channels = static_cast<double>(of.channels),
                      .values = values,
                      .keys = grouped,
                      .scores = grouped / mamba.state * mamba_chunk,
                      .states = values * mamba.state / mamba_chunk,
                      // As Megatron-LM counts (mamba_layer_flops in megatron/training/training.py).
                      .flops = 7 * values * mamba.state};
}

void add_linear_attention(const Model::LinearAttention& linear, std::uint32_t hidden,
                          const Sizes& sizes, Layer& layer) {
  const DeltaSizes of = sizes_of(linear, sizes.tp);
  const auto heads = static_cast<double>(of.heads);
  const auto values = static_cast<double>(of.values);
  add_products(hidden, sizes, of.taken, of.values, layer);
  layer.recurrence = {.tokens = sizes.tokens,
                      .taken = static_cast<double>(of.taken),
                      .channels = static_cast<double>(of.channels),
                      .values = values,
                      .keys = heads * linear.key_head_dim,  // repeated for each head of values
                      .scores = heads * delta_chunk,
                      .states = values * linear.key_head_dim / delta_chunk,
                      // Likewise (gdn_layer_flops): four products of a head's state.
                      .flops = 2 * 4 * values * linear.key_head_dim};
}

// Beside the products: the convolution and its bias, each head's decay, skip and step, the norm.
std::uint64_t mamba_parameters(const Model::Mamba& mamba, std::uint32_t hidden, std::uint32_t tp) {
  const MambaSizes of = sizes_of(mamba, tp);
  return hidden * of.taken + of.values * hidden + of.channels * (mamba.conv + 1) + 3 * of.heads +
         of.values;
}

// A gated delta net's convolution has no bias, its norm is one for all heads.
std::uint64_t linear_attention_parameters(const Model::LinearAttention& linear,
                                          std::uint32_t hidden, std::uint32_t tp) {
  const DeltaSizes of = sizes_of(linear, tp);
  return hidden * of.taken + of.values * hidden + of.channels * linear.conv + 2 * of.heads +
         linear.value_head_dim;
}

}  // namespace pipewright::workload
