#include <algorithm>

#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/compute/small_kernels.hpp"
#include "sim/workload/shape/fine_tuning.hpp"
#include "sim/workload/shape/precision.hpp"

// Kernels of weight matrices: products, casts to their types, and collectives of tensor
// parallelism.
namespace pipewright::workload {
namespace {

using config::DataType;
using Work = Kernel::Work;
using Kernels = std::vector<Kernel>;

// Returns whether the dispatcher gathers the tokens of the ranks that share an expert in the same
// call as those of other ranks, as Megatron-Core's allgather does over the group of ep and etp
// (MoEAllGatherTokenDispatcher in megatron/core/transformer/moe/token_dispatcher.py).
bool gathers_with_dispatch(const ModelSetting& setting) {
  return setting.training.experts.dispatcher == config::Dispatcher::allgather &&
         setting.sizes.ep > 1;
}

// Returns whether ranks hold different tokens of a product's input, which are gathered before the
// product, and whose results are reduced and scattered after it. Sequence parallelism splits the
// all-reduce of tensor parallelism (arXiv 1909.08053) into these halves (arXiv 2205.05198, figure
// 5) and gathers the input once more for the weight gradient. Ranks that share an expert gather
// each other's tokens and sum the results; their input stays gathered for the backward pass.
bool is_cut_by_tokens(const ModelSetting& setting, const Linear& linear) {
  if (is_expert_part(linear.part)) return setting.sizes.etp > 1 && !gathers_with_dispatch(setting);
  return setting.sizes.sequence_parallel && linear.part != Part::head;
}

// Adds the copy that a collective needs if the sequence is not the first dimension of the tensor.
// One copy assembles a gathered tensor, another splits a tensor that is to be summed (PyTorch's
// all_gather_tensor and reduce_scatter_tensor, torch/distributed/_functional_collectives.py).
// Collectives that overlap with products deliver parts in place and sum over the parts of all ranks
// (torch/distributed/_symmetric_memory), except for the gradient of an input of several products.
// The second gather for a weight gradient stands for the one that recomputation repeats and has no
// copy.
void add_copy(Kernels& pass, const Linear& linear, std::uint64_t width, double bytes) {
  if (!is_expert_part(linear.part))
    add_memory(pass, linear.part, "copy", bytes * linear.tokens * static_cast<double>(width));
}

void add_gathers(const ModelSetting& setting, const Linear& linear, PassKernels& kernels) {
  if (!is_cut_by_tokens(setting, linear)) return;
  const double copied = width_of(setting) * setting.sizes.gathered_copy;
  if (linear.gathers_input) {
    add_collective(kernels.forward, linear.part, "all-gather");
    add_copy(kernels.forward, linear, linear.inputs, copied);
    if (!is_expert_part(linear.part) && !is_frozen(setting.training, linear.part))
      add_collective(kernels.input_grad, linear.part, "all-gather");
  }
  if (!linear.scatters_output) return;
  add_collective(kernels.input_grad, linear.part, "all-gather");
  add_copy(kernels.input_grad, linear, linear.outputs, copied);
}

void add_sums(const ModelSetting& setting, const Linear& linear, PassKernels& kernels) {
  if (linear.part == Part::head) return;
  const bool cut = is_cut_by_tokens(setting, linear);
  if (!cut && (setting.sizes.tp == 1 || is_expert_part(linear.part))) return;
  const std::string_view sum = cut ? "reduce-scatter" : "all-reduce";
  if (linear.scatters_output) {
    if (cut)
      add_copy(kernels.forward, linear, linear.outputs,
               width_of(setting) * setting.sizes.summed_copy);
    add_collective(kernels.forward, linear.part, sum);
  }
  if (!linear.gathers_input) return;
  if (cut)
    add_copy(kernels.input_grad, linear, linear.inputs,
             width_of(setting) * setting.sizes.summed_gradient_copy);
  add_collective(kernels.input_grad, linear.part, sum);
}

struct ProductShape {
  double rows = 0;
  double columns = 0;
  double inner = 0;
};

Kernel product_kernel(const Linear& linear, DataType type, const ProductShape& shape,
                      double result_bytes) {
  const double element_bytes = config::element_bytes(type);
  const bool is_grouped = linear.count > 1 && is_expert_part(linear.part);
  return {.name = is_grouped ? "grouped" : "product",
          .part = linear.part,
          .work = is_grouped ? Work::grouped : Work::product,
          .type = type,
          .rows = shape.rows,
          .columns = shape.columns,
          .inner = shape.inner,
          .count = static_cast<double>(linear.count),
          .flops = 2 * shape.rows * shape.columns * shape.inner * linear.count,
          .bytes = linear.count * (element_bytes * shape.inner * (shape.rows + shape.columns) +
                                   result_bytes * shape.rows * shape.columns)};
}

// Returns the bytes that a cast to a scaled type reads and writes. It reads 16 bits and writes a
// copy by rows and, for the product of a weight gradient, one by columns. If a norm comes before,
// the norm writes its result in this form instead of 16 bits.
double cast_bytes(DataType type, double elements, double copies) {
  return elements * (2 + copies * config::element_bytes(type));
}

// Returns whether products of experts, and casts of their tokens, are launched expert by expert in
// a loop of the library, as by Transformer Engine (multi_stream_cublas_gemm in
// transformer_engine/common/gemm/cublaslt_gemm.cu, multi_tensor_quantize_impl in
// transformer_engine/pytorch/csrc/extensions/cast.cpp). Its fused operations launch one kernel.
// Software without such products has no workspaces for them.
bool launches_by_expert(const ModelSetting& setting, const Linear& linear) {
  return linear.count > 1 && is_expert_part(linear.part) && !setting.training.experts.op_fuser &&
         setting.training.stack.memory.expert_workspace > 0;
}

// Returns the launches that cast the tokens of one expert: with one scale per tensor those of its
// largest value, of its scale and of the cast, with a scale for each block the cast alone. Casts to
// nvfp4 are one kernel for all experts (split_quantize_nvfp4_impl in the same file).
std::uint32_t casts_of_expert(DataType type) { return type == DataType::fp8 ? 3 : 1; }

void add_cast(const ModelSetting& setting, const Linear& linear, DataType type, double elements,
              double copies, Kernels& kernels) {
  if (elements == 0) return;
  add_memory(kernels, linear.part, "cast", cast_bytes(type, elements, copies));
  kernels.back().type = type;
  if (type != DataType::nvfp4 && launches_by_expert(setting, linear))
    kernels.back().looped = linear.count * casts_of_expert(type) - 1;
}

bool follows_norm(const Linear& linear) {
  return linear.part == Part::qkv || linear.part == Part::mla_down || linear.part == Part::mla_up ||
         linear.part == Part::recurrence_in || linear.part == Part::mlp_in;
}

// Adds the casts of a product whose scales are of rows or columns, as torch.compile fuses torchao's
// float8 (torchao/float8/float8_linear.py). Each product casts its own two factors: rows along
// which it sums, whose largest values are found on the way, or columns, which are read once more
// for their largest values. Weights are cast anew in each pass.
void add_row_casts(const ModelSetting& setting, const Linear& linear, DataType type, bool frozen,
                   PassKernels& kernels) {
  const double in = linear.tokens * static_cast<double>(linear.inputs) * linear.count;
  const double out = linear.tokens * static_cast<double>(linear.outputs) * linear.count;
  const double weights = static_cast<double>(linear.inputs * linear.outputs) * linear.count;
  const auto add = [&](Kernels& pass, double elements, double reads) {
    if (elements == 0) return;
    add_memory(pass, linear.part, "cast", elements * (2 * reads + config::element_bytes(type)));
    pass.back().type = type;
  };
  constexpr double by_rows = 1;
  constexpr double by_columns = 2;
  if (!follows_norm(linear) || !adapters_of(setting, linear).empty())
    add(kernels.forward, in, by_rows);
  add(kernels.forward, weights, by_rows);
  add(kernels.input_grad, out, by_rows);
  add(kernels.input_grad, weights, by_columns);
  if (frozen) return;
  add(kernels.weight_grad, out, by_columns);
  add(kernels.weight_grad, in, by_columns);
}

// Adds the casts of a product in 32 bits between tensors of 16 bits, such as that of a router. Its
// results stay in 32 bits.
void add_wide_casts(const Linear& linear, PassKernels& kernels) {
  const double in = linear.tokens * static_cast<double>(linear.inputs) * linear.count;
  const double weights = static_cast<double>(linear.inputs * linear.outputs) * linear.count;
  constexpr double bytes = 2 + 4;
  add_memory(kernels.forward, linear.part, "cast", bytes * in);
  add_memory(kernels.forward, linear.part, "cast", bytes * weights);
  add_memory(kernels.input_grad, linear.part, "cast", bytes * in);
}

// Adds the kernel that makes a copy of a frozen matrix in the type of its products.
void add_dequantization(const ModelSetting& setting, const Linear& linear, Kernels& kernels) {
  const config::Training& training = setting.training;
  const bool is_plain = linear.part == Part::router || linear.part == Part::head ||
                        linear.part == Part::streams || linear.part == Part::patch_embedding;
  if (is_plain || !config::dequantizes(training) || !is_frozen(training, linear.part)) return;
  add_memory(kernels, linear.part, "dequantize",
             static_cast<double>(linear.inputs * linear.outputs) * linear.count *
                 (config::base_bytes(training.lora->base, training.precision) +
                  config::value_bytes(training.precision)));
}

}  // namespace

PassKernels product_kernels(const ModelSetting& setting, const Linear& linear, DataType type) {
  const auto inputs = static_cast<double>(linear.inputs);
  const auto outputs = static_cast<double>(linear.outputs);
  const double tokens = linear.tokens;
  // A weight gradient is added to the main gradient, which is read and written.
  const double sums = 2 * config::gradient_bytes(setting.training);
  const double value =
      std::max(config::value_bytes(setting.training.precision), config::value_bytes(type));
  PassKernels kernels;
  kernels.forward.push_back(product_kernel(linear, type, {tokens, outputs, inputs}, value));
  kernels.input_grad.push_back(product_kernel(linear, type, {tokens, inputs, outputs}, value));
  const bool fused = setting.training.fused_accumulation;
  kernels.weight_grad.push_back(
      product_kernel(linear, type, {outputs, inputs, tokens}, fused ? sums : value));
  if (launches_by_expert(setting, linear)) {
    kernels.forward.back().looped = kernels.input_grad.back().looped = linear.count - 1;
    // The gradient of each weight also calls a hook in Python (_make_backward_post_hook in
    // megatron/core/distributed/distributed_data_parallel.py), which takes about as long.
    kernels.weight_grad.back().looped = 2 * linear.count - 1;
  }
  if (!fused)
    add_memory(kernels.weight_grad, linear.part, "sum",
               linear.count * inputs * outputs * (value + sums));
  return kernels;
}

PassKernels linear_kernels(const ModelSetting& setting, const Linear& linear) {
  const DataType type = type_of(setting, linear.part);
  const bool frozen = linear.part == Part::head ? has_frozen_head(setting)
                                                : is_frozen(setting.training, linear.part);
  PassKernels kernels;
  if (type == DataType::fp8_row) {
    add_row_casts(setting, linear, type, frozen, kernels);
  } else if (config::has_32_bits(type) && !has_32_bits(setting)) {
    add_wide_casts(linear, kernels);
  } else if (config::is_scaled(type)) {
    const double in = linear.tokens * static_cast<double>(linear.inputs) * linear.count;
    const double out = linear.tokens * static_cast<double>(linear.outputs) * linear.count;
    // An adapter reads the norm's result in 16 bits, so that the norm does not cast it.
    if (!follows_norm(linear) || !adapters_of(setting, linear).empty())
      add_cast(setting, linear, type, in, frozen ? 1 : 2, kernels.forward);
    add_cast(setting, linear, type, out, 2, kernels.input_grad);
  }
  add_gathers(setting, linear, kernels);
  if (linear.gathers_output) {
    add_collective(kernels.forward, linear.part, "all-gather");
    add_collective(kernels.input_grad, linear.part, "reduce-scatter");
  }
  PassKernels products = product_kernels(setting, linear, type);
  add_dequantization(setting, linear, kernels.forward);
  add_dequantization(setting, linear, kernels.input_grad);
  if (frozen) products.weight_grad.clear();
  append_passes(products, kernels);
  add_sums(setting, linear, kernels);
  return kernels;
}

void add_linear_kernels(const ModelSetting& setting, const std::vector<Linear>& linears, Part first,
                        Part last, PassKernels& kernels) {
  for (const Linear& linear : linears)
    if (first <= linear.part && linear.part <= last) {
      append_passes(linear_kernels(setting, linear), kernels);
      append_passes(adapter_kernels(setting, linear), kernels);
    }
}

}  // namespace pipewright::workload
