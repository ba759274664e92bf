#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/config/data_type.hpp"
#include "sim/config/expert_training.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/lengths.hpp"
#include "sim/config/optimizer.hpp"
#include "sim/config/recompute.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// What the host launches as one: every kernel by itself, a layer's pass, or the whole iteration.
enum class CudaGraphs : std::uint8_t { none, layer, iteration };
inline constexpr std::array<std::string_view, 3> cuda_graph_names{"none", "layer", "iteration"};

// Which dimension of activations is the sequence, as Transformer Engine's qkv_format says it: the
// first, or the second, after the samples, as in PyTorch.
enum class TensorFormat : std::uint8_t { sbhd, bshd };
inline constexpr std::array<std::string_view, 2> tensor_format_names{"sbhd", "bshd"};

// Bytes of a parameter in each part of what a GPU keeps, where number formats do not tell: weights
// and what ZeRO gathers of them are as the recipe of training needs, gradients and the optimizer's
// state as Optimizer has them. The default is Adam in mixed precision: 18 bytes, of which 12 are
// the optimizer's (fp32 copy and two moments).
struct ParameterBytes {
  std::optional<double> weights;
  std::optional<double> gradients;
  std::optional<double> optimizer;
  std::optional<double> gathered;
};

// Activations that wait for their backward pass in the host's memory, as Megatron-LM's
// cpu_offloading_num_layers has them.
struct Offload {
  std::optional<std::uint32_t> layers;  // the first so many of each stage; else all
  double share = 1;                     // part of these layers' activations
  std::optional<double> bandwidth;      // bytes/s to the host, and back; else the GPU's
};

// How a model is trained.
struct Training {
  std::uint32_t microbatch_size = 1;      // samples
  std::optional<std::uint32_t> sequence;  // tokens of a sample; else the model's
  std::optional<Lengths> lengths;         // of the documents in it; else one as long as it
  Recompute recompute;
  DataType precision = DataType::bf16;  // of the layers' products; the rest is in 16 bits
  bool fp8_param_gather = false;        // weights are kept and gathered in the recipe's type alone
  CudaGraphs cuda_graphs = CudaGraphs::none;
  TensorFormat tensor_format = TensorFormat::sbhd;
  bool causal = true;                       // attention computes the lower triangle alone
  bool flash_attention = true;              // scores are never kept
  bool fused_loss = true;                   // logits stay in bf16, else an fp32 copy as well
  bool fused_accumulation = true;           // W adds to the gradients as it makes them, else after
  bool deallocate_outputs = true;           // a stage's output is gone once it has been sent
  std::uint32_t vocabulary_multiple = 128;  // padding, times tp as Megatron does
  ParameterBytes bytes;
  Optimizer optimizer;
  // What goes into a gated activation function is kept in E4M3, one byte (Megatron-LM's
  // --activation-func-fp8-input-store; DeepSeek-V3, arXiv 2412.19437, section 3.3.3).
  bool activation_func_fp8_input_store = false;
  std::optional<Offload> offload;
  ExpertTraining experts;
  // Allowance, beside what PyTorch's tensors hold: the part of the activations that its allocator
  // wastes, and bytes that CUDA's context and NCCL keep.
  double fragmentation = 0.1;
  std::uint64_t reserved = std::uint64_t{2} << 30U;
};

// Bytes of a weight: as given, else 2 and, where it is scaled, its copies by rows and by columns
// beside it, or with fp8_param_gather those alone; and of one that ZeRO gathers.
double weight_bytes(const Training& training);
double gathered_bytes(const Training& training);
// Bytes of a gradient where it is summed, and of a parameter's optimizer state.
double gradient_bytes(const Training& training);
double optimizer_bytes(const Training& training);

Training read_training(const Field& field);
std::vector<KeyRow> training_keys();

}  // namespace pipewright::config
