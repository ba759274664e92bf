#pragma once

#include "sim/config/model.hpp"
#include "sim/workload/shape/shape.hpp"

// Describes layers that carry a state per head along the sequence, and short convolutions: Mamba-2
// (arXiv 2405.21060), Mamba-1 (arXiv 2312.00752), gated delta nets (arXiv 2412.06464). Like their
// kernels, Mamba-2 and delta nets are modelled as processing the sequence in chunks of tokens.
namespace pipewright::workload {

// Number of tokens per chunk, as in Megatron-LM's MambaMixer and in flash-linear-attention.
inline constexpr double mamba_chunk = 128;
inline constexpr double delta_chunk = 64;

// Set `layer.recurrence` and append the weight matrices of the layer's token mixer to
// `layer.attention_linears`.
void add_mamba(const config::Model::Mamba& mamba, std::uint32_t hidden, const Sizes& sizes,
               Layer& layer);
void add_linear_attention(const config::Model::LinearAttention& linear, std::uint32_t hidden,
                          const Sizes& sizes, Layer& layer);
void add_short_convolution(const config::Model::ShortConvolution& convolution, std::uint32_t hidden,
                           const Sizes& sizes, Layer& layer);

// Return the number of parameters of the token mixer on one GPU, without the norm before it.
std::uint64_t mamba_parameters(const config::Model::Mamba& mamba, std::uint32_t hidden,
                               std::uint32_t tp);
std::uint64_t linear_attention_parameters(const config::Model::LinearAttention& linear,
                                          std::uint32_t hidden, std::uint32_t tp);
std::uint64_t short_convolution_parameters(const config::Model::ShortConvolution& convolution,
                                           std::uint32_t hidden, std::uint32_t tp);

}  // namespace pipewright::workload
