#pragma once

#include "sim/config/model.hpp"
#include "sim/workload/shape/shape.hpp"

// Layers that hand a state of each head on along the sequence: Mamba-2 (arXiv 2405.21060) and gated
// delta nets (arXiv 2412.06464), in chunks of tokens as their kernels do.
namespace pipewright::workload {

// Tokens of a chunk: as Megatron-LM's MambaMixer has them, and flash-linear-attention.
inline constexpr double mamba_chunk = 128;
inline constexpr double delta_chunk = 64;

// The mixer's matrices go to `layer.attention_linears`.
void add_mamba(const config::Model::Mamba& mamba, std::uint32_t hidden, const Sizes& sizes,
               Layer& layer);
void add_linear_attention(const config::Model::LinearAttention& linear, std::uint32_t hidden,
                          const Sizes& sizes, Layer& layer);

// Without the norm before it.
std::uint64_t mamba_parameters(const config::Model::Mamba& mamba, std::uint32_t hidden,
                               std::uint32_t tp);
std::uint64_t linear_attention_parameters(const config::Model::LinearAttention& linear,
                                          std::uint32_t hidden, std::uint32_t tp);

}  // namespace pipewright::workload
