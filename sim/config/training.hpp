#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/cuda_graphs.hpp"
#include "sim/config/data_type.hpp"
#include "sim/config/expert_training.hpp"
#include "sim/config/fine_tuning.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/lengths.hpp"
#include "sim/config/module_types.hpp"
#include "sim/config/modules.hpp"
#include "sim/config/offload.hpp"
#include "sim/config/optimizer.hpp"
#include "sim/config/recompute.hpp"
#include "sim/config/stack.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Order of the dimensions of activations, as in Transformer Engine's qkv_format: sequence first, or
// samples first as in PyTorch.
enum class TensorFormat : std::uint8_t { sbhd, bshd };
inline constexpr std::array<std::string_view, 2> tensor_format_names{"sbhd", "bshd"};

// Bytes per parameter, which override the data types. Without a value, weights and gathered weights
// follow from the precision recipe, gradients and optimizer state from Optimizer. The default is
// Adam in mixed precision with 18 bytes, 12 of them for optimizer state (fp32 copy and two
// moments). Weights of 32 bits have no such copy: 16 bytes, 8 of them for the moments.
struct ParameterBytes {
  std::optional<double> weights;
  std::optional<double> gradients;
  std::optional<double> optimizer;
  std::optional<double> gathered;
  // Buckets of gradients beside the accumulated ones, as those of PyTorch's DDP; 0 without
  // data-parallel replicas.
  double gradient_buckets = 0;
};

// Options of training a model: batch, precision, memory and kernels.
struct Training {
  std::uint32_t microbatch_size = 1;      // samples
  std::optional<std::uint32_t> sequence;  // tokens per sample; default: those of the model
  std::optional<Lengths> lengths;         // documents of a sample; default: one of its length
  Recompute recompute;
  // Type of products in layers. Other tensors have 16 bits, or 32 with tf32 and fp32.
  DataType precision = DataType::bf16;
  ModuleTypes module_types;       // types of modules whose products have another one
  bool fp8_param_gather = false;  // weights are stored and gathered only in the recipe's type
  CudaGraphs cuda_graphs;
  TensorFormat tensor_format = TensorFormat::sbhd;
  bool causal = true;           // attention computes only the lower triangle
  bool flash_attention = true;  // scores are not stored
  bool fused_loss = true;       // logits have no fp32 copy
  // Chunks of a microbatch's tokens whose logits, loss and gradients are computed one chunk after
  // the other in the forward pass, so that only the logits of one chunk exist at a time; 1: all
  // logits are stored until the backward pass.
  std::uint32_t loss_chunks = 1;
  bool fused_accumulation = true;           // products of W accumulate into the gradients
  bool deallocate_outputs = true;           // the output of a stage is freed once it was sent
  bool deterministic = false;               // no kernels whose sums change from run to run
  std::uint32_t vocabulary_multiple = 128;  // padding unit, times tp as in Megatron-LM
  ParameterBytes bytes;
  Optimizer optimizer;
  // Stores the input of gated activation functions in E4M3, one byte (Megatron-LM's
  // --activation-func-fp8-input-store; DeepSeek-V3, arXiv 2412.19437, section 3.3.3).
  bool activation_func_fp8_input_store = false;
  std::optional<Offload> offload;
  std::optional<Lora> lora;            // adapters that are trained
  std::optional<WeightGroups> frozen;  // default: all groups with adapters, else none
  // Copied from the scenario's modules.vision: images, and what is trained of their encoder.
  std::optional<VisionModule> vision;
  ExpertTraining experts;
  Stack stack;  // the software that runs the training
  // Memory besides tensors: what PyTorch's allocator wastes, as a fraction of the activations, and
  // the bytes of the CUDA context and of NCCL. Both follow from the stack unless set.
  double fragmentation = SoftwareMemory{}.fragmentation;
  std::uint64_t reserved = SoftwareMemory{}.reserved();

  WeightGroups frozen_groups() const {
    return frozen.value_or(lora ? ~WeightGroups{} : WeightGroups{});
  }
  bool freezes(WeightGroup group) const {
    return frozen_groups().test(static_cast<std::size_t>(group));
  }
  // Returns whether all weights of the model are trained, and nothing beside them.
  bool trains_all() const { return !lora && frozen_groups().none(); }
  // Returns the frozen parts of the encoder of images: with adapters all of them by default.
  VisionParts frozen_vision() const {
    return vision->frozen.value_or(lora ? ~VisionParts{} : VisionParts{});
  }
  // Returns whether training changes anything before the language model, so that the gradient of
  // its input is needed.
  bool trains_vision() const { return vision && (vision->adapters || !frozen_vision().all()); }
};

// Returns the recipe with the types of its modules.
Precision precision_of(const Training& training);

// Bytes per stored weight and per weight that ZeRO gathers, for products of this data type or of
// the recipe's. With a scaled data type, a weight has copies by rows and by columns besides its 2
// bytes, or with fp8_param_gather only these copies.
double weight_bytes(const Training& training, DataType type);
double weight_bytes(const Training& training);
double gathered_bytes(const Training& training, DataType type);
double gathered_bytes(const Training& training);
// Bytes of the copies of a weight in a scaled data type, and what the cast after an update reads
// and writes to make them.
double copy_bytes(DataType type);
double cast_bytes(DataType type);
// Returns whether frozen matrices of layers are stored in a type of their own, training.lora.base.
bool has_own_base(const Training& training);
// Returns whether the products of such a matrix need a copy of it in their own type.
bool dequantizes(const Training& training);
// Bytes per accumulated gradient.
double gradient_bytes(const Training& training);
// Bytes of optimizer state per parameter: of main weights, of all state of parameters that are no
// matrix, and of all state of matrices. ParameterBytes::optimizer states those of Adam, with two
// moments of 8 bytes; other optimizers have their moments instead.
double main_weight_bytes(const Training& training);
double optimizer_bytes(const Training& training);
double matrix_optimizer_bytes(const Training& training);

Training read_training(const Field& field);
// Sets the stack of the training. The stack determines flash_attention, fused_loss,
// recompute.early_stop, fragmentation and reserved unless the section training of the scenario
// `root` sets them. Flash attention is off by default in 32 bits, which FlashAttention, cuDNN and
// Composable Kernel do not accept. Throws an Error if the scenario asks for flash attention and the
// stack has no fused attention kernel.
void set_stack(Training& training, const Value& root, Stack stack);
std::vector<KeyRow> training_keys();

}  // namespace pipewright::config
