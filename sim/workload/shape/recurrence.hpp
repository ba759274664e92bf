#pragma once

#include "sim/config/model.hpp"
#include "sim/workload/shape/shape.hpp"

// Layers that carry a state per head along the sequence: Mamba-2 (arXiv 2405.21060) and gated delta
// nets (arXiv 2412.06464). As in their kernels, the sequence is processed in chunks of tokens.
namespace pipewright::workload {

// Tokens per chunk, as in Megatron-LM's MambaMixer and in flash-linear-attention.
inline constexpr double mamba_chunk = 128;
inline constexpr double delta_chunk = 64;

// Set the recurrence of `layer` and append the mixer's matrices to `layer.attention_linears`.
void add_mamba(const config::Model::Mamba& mamba, std::uint32_t hidden, const Sizes& sizes,
               Layer& layer);
void add_linear_attention(const config::Model::LinearAttention& linear, std::uint32_t hidden,
                          const Sizes& sizes, Layer& layer);

// Parameters of the mixer on one GPU, without the norm before it.
std::uint64_t mamba_parameters(const config::Model::Mamba& mamba, std::uint32_t hidden,
                               std::uint32_t tp);
std::uint64_t linear_attention_parameters(const config::Model::LinearAttention& linear,
                                          std::uint32_t hidden, std::uint32_t tp);

}  // namespace pipewright::workload
