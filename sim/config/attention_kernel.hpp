#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pipewright::config {

// Implementations of attention. `unfused` stores the scores, in products and a softmax; all others
// are fused kernels, which do not.
// - fa1: FlashAttention 1 (arXiv 2205.14135) and its version in Triton
// - fa2: FlashAttention 2 (arXiv 2307.08691), also as PyTorch's scaled_dot_product_attention
// - fa3: FlashAttention 3 (arXiv 2407.08608), on Hopper
// - cudnn: cuDNN from version 9.4 on, as Transformer Engine prefers on Hopper and Blackwell
// - cudnn_9_2: cuDNN before that
// - ck, aiter: Composable Kernel and AITER of ROCm
// - aotriton: PyTorch's scaled_dot_product_attention on ROCm
enum class AttentionKernel : std::uint8_t {
  unfused,
  fa1,
  fa2,
  fa3,
  cudnn,
  cudnn_9_2,
  ck,
  aiter,
  aotriton
};
inline constexpr std::array<std::string_view, 9> attention_kernel_names{
    "unfused", "fa1", "fa2", "fa3", "cudnn", "cudnn-9-2", "ck", "aiter", "aotriton"};

}  // namespace pipewright::config
