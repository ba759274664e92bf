#include "sim/workload/compute/kernels.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "sim/workload/compute/flops.hpp"
#include "sim/workload/shape/fine_tuning.hpp"
#include "sim/workload/shape/precision.hpp"

// The numeric factors of bytes in this file count the bytes that a kernel reads and writes per
// element of a tensor: 2 for each access to a 16-bit element, 1 for each access to a mask. Where
// tensors have 32 bits, width_of() multiplies the bytes of elements, and no kernel casts between 16
// and 32 bits.
namespace pipewright::workload {
namespace {

using config::DataType;
using config::GraphModule;
using Work = Kernel::Work;
using Kernels = std::vector<Kernel>;

bool has_32_bits(const ModelSetting& setting) {
  return config::has_32_bits(setting.training.precision);
}

// Returns the bytes of an element of an activation, in units of 16 bits.
double width_of(const ModelSetting& setting) { return has_32_bits(setting) ? 2 : 1; }

void add_collective(Kernels& kernels, Part part, std::string_view name) {
  kernels.push_back({.name = name, .part = part, .work = Work::collective});
}

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

// Adds one kernel for each of `bytes`, the bytes per element that the kernels move.
void add_each(Kernels& kernels, Part part, std::string_view name, std::span<const double> bytes,
              double elements) {
  for (const double bytes_per_element : bytes)
    add_memory(kernels, part, name, bytes_per_element * elements);
}

// Bytes per element of the kernels of an operation on tensors of 16 bits. A stack that does not
// fuse it launches PyTorch's kernels one by one (torch/nn/functional.py, eager mode), with tensors
// between them.
struct SmallKernels {
  std::span<const double> forward;
  std::span<const double> backward;
};

void add_small_kernels(const SmallKernels& operation, Part part, std::string_view name,
                       double elements, PassKernels& kernels) {
  add_each(kernels.forward, part, name, operation.forward, elements);
  add_each(kernels.input_grad, part, name, operation.backward, elements);
}

constexpr std::array<double, 1> norm_forward{4};
constexpr std::array<double, 1> norm_backward{8};
// Without fusion an RMSNorm casts to fp32, squares, averages, scales, casts back and multiplies by
// its weight. PyTorch's layer norm is one kernel in any case.
constexpr std::array<double, 6> rms_norm_forward{6, 8, 4, 8, 6, 4};
constexpr std::array<double, 7> rms_norm_backward{4, 4, 6, 8, 8, 12, 6};
// The same of fp32 tensors, without casts, in units of 16 bits.
constexpr std::array<double, 4> wide_rms_norm_forward{4, 2, 4, 4};
constexpr std::array<double, 5> wide_rms_norm_backward{4, 4, 4, 4, 6};

SmallKernels norm_of(const ModelSetting& setting) {
  const bool fused = setting.training.stack.fuses(config::Fusable::norm) ||
                     setting.model.norm == config::Model::Norm::layernorm;
  if (fused) return {norm_forward, norm_backward};
  if (has_32_bits(setting)) return {wide_rms_norm_forward, wide_rms_norm_backward};
  return {rms_norm_forward, rms_norm_backward};
}

void add_norm_kernels(const ModelSetting& setting, Part part, double elements,
                      PassKernels& kernels) {
  add_small_kernels(norm_of(setting), part, "norm", width_of(setting) * elements, kernels);
}

void add_norm_kernels(const ModelSetting& setting, Part part, PassKernels& kernels) {
  add_norm_kernels(setting, part, setting.sizes.spread_tokens * setting.model.hidden, kernels);
}

// Returns the bytes per element of a kernel that accesses so many elements and masks.
double masked_bytes(const ModelSetting& setting, double elements, double masks) {
  return 2 * width_of(setting) * elements + masks;
}

void append_passes(const PassKernels& addition, PassKernels& kernels) {
  const auto append = [](const Kernels& source, Kernels& target) {
    target.insert(target.end(), source.begin(), source.end());
  };
  append(addition.forward, kernels.forward);
  append(addition.input_grad, kernels.input_grad);
  append(addition.weight_grad, kernels.weight_grad);
}

void add_residual_kernels(const ModelSetting& setting, PassKernels& kernels) {
  const double elements = setting.sizes.spread_tokens * setting.model.hidden;
  const bool dropout = setting.model.dropout > 0;
  const bool fused = setting.training.stack.fuses(config::Fusable::residual);
  const double dropout_bytes = dropout ? masked_bytes(setting, 2, 1) * elements : 0;
  if (!fused) add_memory(kernels.forward, Part::residual, "dropout", dropout_bytes);
  add_memory(kernels.forward, Part::residual, "add",
             masked_bytes(setting, 3, dropout && fused ? 1 : 0) * elements);
  add_memory(kernels.input_grad, Part::residual, "dropout", dropout_bytes);
}

// Adds what comes after a mixer or an MLP: the residual addition, or the mixing of streams.
void add_result_kernels(const ModelSetting& setting, PassKernels& kernels) {
  if (setting.model.residual_streams > 1)
    append_passes(stream_results(setting), kernels);
  else
    add_residual_kernels(setting, kernels);
}

// Adds the norm of the result of attention or of an MLP, before the residual addition.
void add_post_norm_kernels(const ModelSetting& setting, PassKernels& kernels) {
  if (setting.model.post_norms) add_norm_kernels(setting, Part::post_norm, kernels);
}

// Without fusion the activation function of a gated MLP and the product with the gate are kernels
// of their own.
void add_activation_kernels(const ModelSetting& setting, Part part, const Activation& activation,
                            PassKernels& kernels) {
  const double width = width_of(setting);
  constexpr std::array<double, 2> gated_forward{4, 6};
  constexpr std::array<double, 3> gated_backward{6, 6, 6};
  if (activation.gates > 0 && !setting.training.stack.fuses(config::Fusable::activation))
    return add_small_kernels({gated_forward, gated_backward}, part, "activation",
                             width * activation.outputs, kernels);
  add_memory(kernels.forward, part, "activation",
             width * (4 * activation.outputs + 2 * activation.gates));
  add_memory(kernels.input_grad, part, "activation",
             width * (6 * activation.outputs + 4 * activation.gates));
}

// Adds the rotary embedding of packed documents without fusion. Megatron-Core reads the lengths of
// the documents on the host, so that the GPU waits for the next launch, and rotates queries and
// keys document by document (_apply_rotary_pos_emb_thd of
// megatron/core/models/common/embeddings/rope_utils.py, July 2026). A document takes operations for
// cosine and sine (6), two products, the other half (2), a sum and two copies; their gradients take
// as many but for those of cosine and sine, and three copies more.
void add_document_rotations(const ModelSetting& setting, double elements, PassKernels& kernels) {
  constexpr std::uint32_t tensors = 2;
  constexpr std::uint32_t reads = 2;  // of the lengths and of their sum
  constexpr double forward = 13;
  constexpr double backward = 10;
  constexpr double lengths_bytes = 8;
  const bool is_captured = setting.training.cuda_graphs.capture_all() ||
                           setting.training.cuda_graphs.has(GraphModule::attn);
  if (!is_captured)
    kernels.forward.push_back({.name = "lengths to host",
                               .times = tensors * reads,
                               .part = Part::rotary,
                               .bytes = lengths_bytes * setting.sizes.documents,
                               .stall_s = setting.training.stack.host.of_operation(),
                               .is_operation = true});
  const auto add = [&](Kernels& pass, double operations, double bytes) {
    add_memory(pass, Part::rotary, "rotary", bytes * elements);
    pass.back().is_operation = true;
    pass.back().looped =
        static_cast<std::uint32_t>(tensors * operations * setting.sizes.documents) - 1;
  };
  constexpr double bytes = 6 + 8 + 6;
  add(kernels.forward, forward, bytes);
  add(kernels.input_grad, backward, bytes);
}

// Without fusion the rotary embedding casts to fp32, multiplies and casts back.
void add_rotary_kernels(const ModelSetting& setting, double elements, PassKernels& kernels) {
  constexpr std::array<double, 1> fused{4};
  constexpr std::array<double, 3> unfused{6, 8, 6};
  if (setting.training.stack.fuses(config::Fusable::rope) || has_32_bits(setting))
    return add_small_kernels({fused, fused}, Part::rotary, "rotary", width_of(setting) * elements,
                             kernels);
  if (setting.sizes.documents >= 1 && setting.training.stack.family == "megatron")
    return add_document_rotations(setting, elements, kernels);
  add_small_kernels({unfused, unfused}, Part::rotary, "rotary", elements, kernels);
}

void add_linear_kernels(const ModelSetting& setting, const std::vector<Linear>& linears, Part first,
                        Part last, PassKernels& kernels) {
  for (const Linear& linear : linears)
    if (first <= linear.part && linear.part <= last) {
      append_passes(linear_kernels(setting, linear), kernels);
      append_passes(adapter_kernels(setting, linear), kernels);
    }
}

constexpr std::string_view token_splits = "splits";
constexpr std::string_view copy_to_host = "copy to host";

// A kernel that processes the scores of a router: one fp32 score per token and expert. Megatron-LM
// launches these kernels without fusion (megatron/core/transformer/moe: router.py, moe_utils.py,
// token_dispatcher.py). They are short, but each takes the host as long to launch as any other.
struct ScoreKernel {
  std::string_view name;
  double bytes;  // per score
};
constexpr std::string_view cast_of_scores = "cast";
constexpr std::array<ScoreKernel, 12> forward_score_kernels{{{cast_of_scores, 6},
                                                             {"softmax", 8},
                                                             {"top-k", 4},
                                                             {"normalise", 0.5},
                                                             {"zeros", 4},
                                                             {"scatter", 1},
                                                             {"map", 1},
                                                             {"counts", 1},
                                                             {"loss", 4},
                                                             {"loss", 4},
                                                             {token_splits, 0.1},
                                                             {copy_to_host, 0.1}}};
constexpr std::array<ScoreKernel, 5> backward_score_kernels{
    {{"loss", 8}, {"scatter", 4}, {"normalise", 0.5}, {"softmax", 12}, {cast_of_scores, 6}}};

// The fused router computes the scores and selects experts in one kernel (Megatron-Core's
// moe_router_fusion).
constexpr std::array<ScoreKernel, 3> fused_forward_score_kernels{
    {{"scores", 12}, {"loss", 4}, {copy_to_host, 0.1}}};
constexpr std::array<ScoreKernel, 2> fused_backward_score_kernels{{{"loss", 8}, {"scores", 16}}};

void add_router_scores(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  const bool fused = setting.training.stack.fuses(config::Fusable::router);
  const std::span<const ScoreKernel> forward =
      fused ? std::span<const ScoreKernel>(fused_forward_score_kernels) : forward_score_kernels;
  const std::span<const ScoreKernel> backward =
      fused ? std::span<const ScoreKernel>(fused_backward_score_kernels) : backward_score_kernels;
  const bool has_wide_scores = config::has_32_bits(type_of(setting, Part::router));
  const auto add = [&](std::span<const ScoreKernel> score_kernels, double scores, Kernels& pass) {
    for (const ScoreKernel& kernel : score_kernels)
      if (!(has_wide_scores && kernel.name == cast_of_scores))
        add_memory(pass, Part::router, kernel.name, kernel.bytes * scores);
  };
  for (const Linear& router : layer.router) {
    const double scores = router.tokens * static_cast<double>(router.outputs);
    add(forward, scores, kernels.forward);
    add(backward, scores, kernels.input_grad);
  }
}

// Returns whether tokens are copied for each of their experts before they are sent. A dispatcher
// that sends each token once makes the copies where the tokens arrive.
bool copies_before_sending(const ModelSetting& setting) {
  return setting.training.experts.dispatcher == config::Dispatcher::alltoall ||
         setting.sizes.ep == 1;
}

// Bytes per element of the kernels with which PyTorch moves copies of tokens: those of the rank
// that sends the copies, and those of the rank that has the experts.
struct TokenMoves {
  std::span<const double> sent;
  std::span<const double> received;
};

// Returns the kernels without fusion (torchtitan/models/moe/moe.py and utils.py). Copies are
// gathered before they are sent. Where they arrive, a row of padding is appended, and the copies
// are gathered expert by expert. On their way back, they are scattered twice, cast to 32 bits and
// multiplied by the router's scores. Gradients of gathered rows are added up in zeroed tensors.
TokenMoves copied_moves(bool combines, bool backward) {
  static constexpr std::array<double, 1> gather{4};
  static constexpr std::array<double, 2> pad_and_gather{4, 4};
  static constexpr std::array<double, 1> scatter{4};
  static constexpr std::array<double, 4> scatter_and_weigh{2, 4, 6, 4};
  static constexpr std::array<double, 4> gradient_of_weighing{4, 4, 6, 4};
  static constexpr std::array<double, 3> gradient_of_scatter{2, 4, 4};
  static constexpr std::array<double, 2> gradient_of_gather{2, 6};
  if (combines && backward) return {gradient_of_weighing, gradient_of_scatter};
  if (combines) return {scatter_and_weigh, scatter};
  if (backward) return {gradient_of_gather, gradient_of_gather};
  return {gather, pad_and_gather};
}

// Returns the kernels without fusion for tokens that are sent once (torchtitan/distributed/deepep):
// tokens are gathered expert by expert, and later multiplied by the router's scores and added up.
TokenMoves received_moves(bool combines, bool backward) {
  static constexpr std::array<double, 1> gather{4};
  static constexpr std::array<double, 2> weigh_and_add{4, 6};
  static constexpr std::array<double, 3> gradient_of_weighing{4, 4, 4};
  static constexpr std::array<double, 1> gradient_of_gather{6};
  if (combines && backward) return {{}, gradient_of_weighing};
  if (combines) return {{}, weigh_and_add};
  if (backward) return {{}, gradient_of_gather};
  return {{}, gather};
}

// Adds the permutation of the experts' tokens. Without fusion PyTorch also sorts the copies'
// experts and gathers their indices and probabilities.
void add_moves(const ModelSetting& setting, Part part, std::string_view name, bool backward,
               const Routing& routing, Kernels& kernels) {
  const double width = width_of(setting) * setting.model.expert_width();
  const bool copies = copies_before_sending(setting);
  if (setting.training.stack.fuses(config::Fusable::permutation))
    return add_memory(kernels, part, name,
                      4 * ((copies ? routing.sent : 0) + routing.received) * width);
  const bool combines = part == Part::unpermute;
  const TokenMoves moves =
      copies ? copied_moves(combines, backward) : received_moves(combines, backward);
  add_each(kernels, part, name, moves.sent, routing.sent * width);
  add_each(kernels, part, name, moves.received, routing.received * width);
  constexpr std::array<double, 3> index_bytes{16, 12, 12};
  add_each(kernels, part, "indices", index_bytes, routing.received);
}

// Adds the permutation of the experts' tokens and their dispatch or combination.
void add_permutation_kernels(const ModelSetting& setting, Part part, std::string_view name,
                             bool backward, const Layer& layer, Kernels& kernels) {
  using config::Dispatcher;
  if (layer.routing.received == 0) return;
  add_moves(setting, part, name, backward, layer.routing, kernels);
  if (setting.sizes.ep == 1) return;
  const Dispatcher dispatcher = setting.training.experts.dispatcher;
  const bool combines = part == Part::unpermute;
  if (dispatcher == Dispatcher::alltoall)
    add_collective(kernels, part, "all-to-all");
  else if (dispatcher == Dispatcher::allgather)
    add_collective(kernels, part, combines ? "reduce-scatter" : "all-gather");
  else
    add_collective(kernels, part, combines ? "combine" : "dispatch");
}

}  // namespace

Launches launches(const Kernels& kernels) {
  Launches count;
  for (const Kernel& kernel : kernels) count.add(kernel);
  return count;
}

PassKernels norm_kernels(const ModelSetting& setting, Part part, double elements) {
  PassKernels kernels;
  add_norm_kernels(setting, part, elements, kernels);
  return kernels;
}

void add_memory(Kernels& kernels, Part part, std::string_view name, double bytes) {
  if (bytes > 0)
    kernels.push_back({.name = name, .part = part, .work = Work::memory, .bytes = bytes});
}

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

namespace {

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

namespace {

// Adds the products of an indexer, whose inputs get no gradients from it: only its own loss trains
// it (DeepSeek-V3.2, arXiv 2512.02556, section 2.1.1).
void add_indexer_kernels(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  PassKernels products;
  add_linear_kernels(setting, layer.attention_linears, Part::indexer, Part::indexer, products);
  products.input_grad.clear();
  if (learned_pairs(setting, layer) == 0) products.weight_grad.clear();
  append_passes(products, kernels);
}

// Adds the kernels that make compressed keys from those of several tokens, and their gradients.
void add_compressor_kernels(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  if (layer.pooled_inputs == 0) return;
  const double width = 2 * width_of(setting);
  const double results = layer.attention.pooled() * layer.attention.key_dim;
  add_memory(kernels.forward, Part::compressor, "pool", width * (layer.pooled_inputs + results));
  add_memory(kernels.input_grad, Part::compressor, "pool",
             width * (2 * layer.pooled_inputs + results));
}

void add_attention_kernels(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  const Attention& a = layer.attention;
  add_linear_kernels(setting, layer.attention_linears, Part::qkv, Part::compressor, kernels);
  add_compressor_kernels(setting, layer, kernels);
  add_indexer_kernels(setting, layer, kernels);
  const double heads = a.query_size() + a.key_size();
  if (setting.model.qk_layernorm)
    add_small_kernels(norm_of(setting), Part::qk_norm, "norm", width_of(setting) * heads, kernels);
  // Of the long queries and keys of sparse latent attention, only the part with positions is
  // rotated.
  const bool is_long = is_latent(layer.mixer) && a.sparse;
  const double rotated =
      is_long ? a.tokens() * (a.heads + 1.0) * setting.model.latent->rope_head_dim : heads;
  if (!setting.model.learned_positions) add_rotary_kernels(setting, rotated, kernels);
  append_passes(index_kernels(setting, layer), kernels);
  append_passes(attention_kernels(setting, a), kernels);
  const double gated = setting.model.output_gate ? width_of(setting) * a.result_size() : 0;
  add_memory(kernels.forward, Part::projection, "gate", 6 * gated);
  add_memory(kernels.input_grad, Part::projection, "gate", 10 * gated);
  add_linear_kernels(setting, layer.attention_linears, Part::projection, Part::projection, kernels);
}

void add_stream_inputs(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  if (!layer.stream_linears.empty())
    append_passes(stream_inputs(setting, layer.stream_linears.front()), kernels);
}

void add_mixer_kernels(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  add_stream_inputs(setting, layer, kernels);
  add_norm_kernels(setting, attention_norm_part(layer.mixer), kernels);
  if (layer.has_attention()) add_attention_kernels(setting, layer, kernels);
  if (layer.has_recurrence()) {
    const auto add_linear = [&](Part part) {
      add_linear_kernels(setting, layer.attention_linears, part, part, kernels);
    };
    add_linear(Part::recurrence_in);
    add_linear(Part::recurrence);
    append_passes(recurrence_kernels(setting, layer), kernels);
    add_linear(Part::recurrence_out);
  }
  if (layer.has_attention() && layer.has_recurrence())
    add_memory(kernels.forward, Part::recurrence_out, "sum",
               6 * width_of(setting) * setting.sizes.spread_tokens * setting.model.hidden);
  add_post_norm_kernels(setting, kernels);
  add_result_kernels(setting, kernels);
}

// Adds the kernels by which Megatron-Core adds the bias of the experts' second product, times the
// probability of each copy of a token, expert by expert in fp32 (_apply_bias in
// megatron/core/transformer/moe/experts.py). The bytes are those of the scaled bias, the sum, the
// concatenation of all experts, and the cast to 16 bits, and then those of their gradients.
void add_expert_biases(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  const double elements = layer.routing.received * setting.model.expert_width();
  constexpr std::array<double, 4> forward{4, 2 + 4 + 4, 4 + 4, 4 + 2};
  constexpr std::array<double, 4> backward{2 + 4, 4 + 2, 4 + 4 + 4, 4 + 4 + 4};
  add_small_kernels({forward, backward}, Part::expert_out, "bias", elements, kernels);
}

// Adds the kernels of the routed experts. With Transformer Engine's fused operations
// (use_transformer_engine_op_fuser), a product also applies what follows it: the activation
// function, the cast for the next product and the biases. In the forward pass this is the first of
// the two products, in the backward pass the second.
void add_expert_kernels(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  PassKernels experts;
  add_linear_kernels(setting, layer.expert_linears, Part::expert_in, Part::expert_in, experts);
  add_activation_kernels(setting, Part::expert_activation, layer.experts, experts);
  add_linear_kernels(setting, layer.expert_linears, Part::expert_out, Part::expert_out, experts);
  if (setting.training.experts.op_fuser) {
    const auto drop = [](Kernels& pass, Part cast) {
      std::erase_if(pass, [&](const Kernel& kernel) {
        return kernel.work == Work::memory &&
               (kernel.part == Part::expert_activation || kernel.part == cast);
      });
    };
    drop(experts.forward, Part::expert_out);
    drop(experts.input_grad, Part::expert_in);
  } else if (setting.model.biases == config::Model::Biases::all) {
    add_expert_biases(setting, layer, experts);
  }
  append_passes(experts, kernels);
}

// Adds the kernels of an MLP, or of a router with its experts.
void add_feed_forward_kernels(const ModelSetting& setting, LayerKind kind, const Layer& layer,
                              PassKernels& kernels) {
  add_stream_inputs(setting, layer, kernels);
  add_norm_kernels(setting, mlp_norm_part(kind), kernels);
  add_linear_kernels(setting, layer.mlp_linears, Part::mlp_in, Part::mlp_in, kernels);
  add_activation_kernels(setting, Part::activation, layer.mlp, kernels);
  add_linear_kernels(setting, layer.mlp_linears, Part::mlp_out, Part::mlp_out, kernels);
  add_linear_kernels(setting, layer.latent_linears, Part::latent_in, Part::latent_in, kernels);
  add_linear_kernels(setting, layer.router, Part::router, Part::router, kernels);
  add_router_scores(setting, layer, kernels);
  add_permutation_kernels(setting, Part::permute, "permute", false, layer, kernels.forward);
  add_permutation_kernels(setting, Part::permute, "permute", true, layer, kernels.input_grad);
  add_expert_kernels(setting, layer, kernels);
  add_permutation_kernels(setting, Part::unpermute, "unpermute", false, layer, kernels.forward);
  add_permutation_kernels(setting, Part::unpermute, "unpermute", true, layer, kernels.input_grad);
  add_linear_kernels(setting, layer.latent_linears, Part::latent_out, Part::latent_out, kernels);
  add_linear_kernels(setting, layer.mlp_linears, Part::shared_in, Part::shared_in, kernels);
  add_activation_kernels(setting, Part::shared_activation, layer.shared, kernels);
  add_linear_kernels(setting, layer.mlp_linears, Part::shared_out, Part::shared_out, kernels);
  add_post_norm_kernels(setting, kernels);
  add_result_kernels(setting, kernels);
}

// Adds the wait for the host. The host waits to read how many tokens its experts get, so that it
// launches no kernels ahead. In turn, the GPU waits for the launches up to the one that sends the
// tokens, or up to the experts' first product if tokens are not sent (Megatron-Core's dropless
// dispatchers, cuda_sync_point in megatron/core/transformer/moe/token_dispatcher.py). A CUDA graph
// of the whole iteration or of the whole mixture, with buffers for any number of tokens, has no
// such wait. A graph of moe_preprocess has launched the permutation before the wait
// (cuda_dtoh_point in the same file).
void add_stall(const ModelSetting& setting, Kernels& forward) {
  const config::CudaGraphs& graphs = setting.training.cuda_graphs;
  if (graphs.scope == config::CudaGraphs::Scope::iteration || graphs.has(GraphModule::moe)) return;
  const auto copy = std::ranges::find(forward, copy_to_host, &Kernel::name);
  const auto next = std::find_if(copy, forward.end(), [](const Kernel& kernel) {
    return kernel.part > Part::router && kernel.work != Work::memory;
  });
  const config::HostTimes& host = setting.training.stack.host;
  for (auto kernel = copy; kernel != next; ++kernel)
    if (graphs.capture_all() || !kernel->captured)
      copy->stall_s += kernel->work == Work::collective ? host.collective : host.kernel;
}

// Returns the module of a mixture of experts that runs a kernel; the module moe contains the
// others. The modules are those of MoELayer (megatron/core/transformer/moe/moe_layer.py): route()
// and shared_experts_compute() belong to moe_router, preprocess() with the projection to latent
// experts and dispatch_preprocess() to moe_preprocess. The dispatcher alltoall alone permutes
// tokens in dispatch_preprocess(), and no graph of a part contains the copy to the host
// (megatron/core/transformer/moe/token_dispatcher.py).
GraphModule expert_module(const config::ExpertTraining& experts, const Kernel& kernel) {
  switch (kernel.part) {
    case Part::mlp_norm:
      return GraphModule::moe_router;
    case Part::router:
      if (kernel.name == copy_to_host) return GraphModule::moe;
      return kernel.name == token_splits ? GraphModule::moe_preprocess : GraphModule::moe_router;
    case Part::shared_in:
    case Part::shared_activation:
    case Part::shared_out:
      return experts.shared_overlap ? GraphModule::moe : GraphModule::moe_router;
    case Part::latent_in:
      return GraphModule::moe_preprocess;
    case Part::permute: {
      const bool permutes_first = experts.dispatcher == config::Dispatcher::alltoall;
      return permutes_first && kernel.work != Work::collective ? GraphModule::moe_preprocess
                                                               : GraphModule::moe;
    }
    default:
      return GraphModule::moe;
  }
}

// Marks the kernels that a CUDA graph captures: those for which is_captured(kernel) holds.
template <class IsCaptured>
void capture(PassKernels& kernels, const IsCaptured& is_captured) {
  for (Kernels* const pass : {&kernels.forward, &kernels.input_grad, &kernels.weight_grad})
    for (Kernel& kernel : *pass) kernel.captured = kernel.captured || is_captured(kernel);
}

// Marks all kernels if the graphs are not limited to modules.
void capture_all(const ModelSetting& setting, PassKernels& kernels) {
  capture(kernels,
          [all = setting.training.cuda_graphs.capture_all()](const Kernel&) { return all; });
}

// Marks those kernels of a layer's mixer, with norm and residual, that the module's graph captures.
// Gated delta nets are a kind of self-attention in Megatron-LM, Mamba-2 layers are not
// (_layer_is_graphable in megatron/core/transformer/cuda_graphs.py).
void capture_mixer(const ModelSetting& setting, Mixer mixer, PassKernels& kernels) {
  const auto module = mixer == Mixer::mamba ? GraphModule::mamba : GraphModule::attn;
  capture(kernels, [is_captured = setting.training.cuda_graphs.has(module)](const Kernel&) {
    return is_captured;
  });
}

// Marks the captured kernels of an MLP or a mixture of experts, with norm and residual.
void capture_feed_forward(const ModelSetting& setting, LayerKind kind, PassKernels& kernels) {
  const config::CudaGraphs& graphs = setting.training.cuda_graphs;
  capture(kernels, [&](const Kernel& kernel) {
    if (!has_experts(kind)) return graphs.has(GraphModule::mlp);
    return graphs.has(GraphModule::moe) ||
           graphs.has(expert_module(setting.training.experts, kernel));
  });
}

}  // namespace

PassKernels layer_kernels(const ModelSetting& setting, LayerKind kind) {
  const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
  PassKernels kernels;
  if (layer.mixer != Mixer::none) {
    add_mixer_kernels(setting, layer, kernels);
    capture_mixer(setting, layer.mixer, kernels);
  }
  if (feed_forward_of(kind) != FeedForward::none) {
    PassKernels feed_forward;
    add_feed_forward_kernels(setting, kind, layer, feed_forward);
    capture_feed_forward(setting, kind, feed_forward);
    append_passes(feed_forward, kernels);
  }
  capture_all(setting, kernels);
  if (!layer.router.empty()) add_stall(setting, kernels.forward);
  return kernels;
}

PassKernels embedding_kernels(const ModelSetting& setting) {
  const double elements = setting.sizes.tokens * setting.model.hidden;
  PassKernels kernels;
  add_memory(kernels.forward, Part::embedding, "lookup", 4 * width_of(setting) * elements);
  if (setting.model.dropout > 0)
    add_memory(kernels.forward, Part::embedding, "dropout",
               masked_bytes(setting, 2, 1) * setting.sizes.spread_tokens * setting.model.hidden);
  // The gradient of the embedding is summed row by row into the main gradient.
  if (!is_frozen(setting.training, Part::embedding))
    add_memory(kernels.weight_grad, Part::embedding, "sum",
               (2 * width_of(setting) + 2 * config::gradient_bytes(setting.training)) * elements);
  capture_all(setting, kernels);
  return kernels;
}

PassKernels mtp_kernels(const ModelSetting& model_setting) {
  const ModelSetting setting = setting_of_mtp(model_setting);
  PassKernels kernels = embedding_kernels(setting);
  for (int norm = 0; norm < 2; ++norm) add_norm_kernels(setting, Part::mtp_norm, kernels);
  // The concatenation reads both tensors and writes them side by side.
  add_memory(kernels.forward, Part::mtp_projection, "concat",
             2 * 4 * width_of(setting) * setting.sizes.spread_tokens * setting.model.hidden);
  append_passes(linear_kernels(setting, mtp_projection(setting.model, setting.sizes)), kernels);
  // Each tp rank computes a part of the projection's result, so the parts are gathered.
  if (setting.sizes.tp > 1) add_collective(kernels.forward, Part::mtp_projection, "all-gather");
  append_passes(layer_kernels(setting, kind_of_mtp(setting.model)), kernels);
  capture_all(setting, kernels);
  return kernels;
}

namespace {

// Returns the kernels of the output matrix and of the loss for this number of tokens.
PassKernels loss_kernels(const ModelSetting& setting, double tokens) {
  const std::uint64_t vocabulary = setting.sizes.vocabulary / setting.sizes.tp;
  PassKernels kernels = linear_kernels(setting, {.part = Part::head,
                                                 .tokens = tokens,
                                                 .inputs = setting.model.hidden,
                                                 .outputs = vocabulary});
  // Bytes per logit of the loss in separate steps: cast to fp32 (6), maximum (4), difference (8),
  // exponential and sum (6), then gradient (8) and cast to 16 bits (2, as 4 of 6 are in cache).
  // Logits of 32 bits need no casts. The fused loss reads the logits twice and writes the gradient
  // once.
  const double logits = tokens * static_cast<double>(vocabulary);
  // Three all-reduces over tp: of each token's maximum logit, of its target logit and of its sum.
  if (setting.sizes.tp > 1)
    for (int step = 0; step < 3; ++step) add_collective(kernels.forward, Part::loss, "all-reduce");
  const double fused = 4 * width_of(setting);
  const double cast_forward = has_32_bits(setting) ? 0 : 6;
  const double cast_back = has_32_bits(setting) ? 0 : 2;
  add_memory(kernels.forward, Part::loss, "loss",
             (setting.training.fused_loss ? fused : 18 + cast_forward) * logits);
  add_memory(kernels.input_grad, Part::loss, "loss",
             (setting.training.fused_loss ? fused : 8 + cast_back) * logits);
  return kernels;
}

// Appends the kernels of a loss in chunks, which computes the gradients of a chunk right after its
// loss, in the forward pass (torchtitan's ChunkedLossWrapper, Liger's
// LigerFusedLinearCrossEntropyFunction).
void append_chunks(const PassKernels& chunk, std::uint32_t chunks, Kernels& forward) {
  for (const Kernels* const pass : {&chunk.forward, &chunk.input_grad, &chunk.weight_grad})
    for (const Kernel& kernel : *pass) forward.emplace_back(kernel).times *= chunks;
}

}  // namespace

PassKernels head_kernels(const ModelSetting& setting) {
  PassKernels kernels;
  // The residual streams become one hidden state.
  if (setting.model.residual_streams > 1) {
    const double elements = width_of(setting) * setting.sizes.spread_tokens;
    const auto ends = static_cast<double>(setting.model.residual_width() + setting.model.hidden);
    add_memory(kernels.forward, Part::head_norm, "contract", 2 * elements * ends);
    add_memory(kernels.input_grad, Part::head_norm, "contract",
               2 * elements * (ends + static_cast<double>(setting.model.residual_width())));
  }
  add_norm_kernels(setting, Part::head_norm, kernels);
  const std::uint32_t chunks = setting.training.loss_chunks;
  const PassKernels loss = loss_kernels(setting, setting.sizes.tokens / chunks);
  if (chunks == 1)
    append_passes(loss, kernels);
  else
    append_chunks(loss, chunks, kernels.forward);
  capture_all(setting, kernels);
  return kernels;
}

}  // namespace pipewright::workload
