#include "sim/workload/compute/kernels.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "sim/workload/compute/flops.hpp"

// Bytes are counted per element of a tensor that a kernel reads or writes: 2 in 16 bits; of masks,
// 1.
namespace pipewright::workload {
namespace {

using config::DataType;
using Work = Kernel::Work;
using Kernels = std::vector<Kernel>;

void add_collective(Kernels& kernels, Part part, std::string_view name) {
  kernels.push_back({.name = name, .part = part, .work = Work::collective});
}

// Tensor parallelism's collectives around a matrix (arXiv 1909.08053), with sequence parallelism in
// two halves (arXiv 2205.05198, figure 5), of which the input is gathered once more for its
// gradient: what is gathered before the product, and what is summed after it.
// Ranks that share an expert gather the tokens that each got, and sum the results.
bool is_cut_by_tokens(const ModelSetting& setting, const Linear& linear) {
  if (is_expert_part(linear.part)) return setting.sizes.etp > 1;
  return setting.sizes.sequence_parallel && linear.part != Part::head;
}

// Along a sequence that is not the first dimension, what arrives is put together by a copy, and
// what is to be summed is taken apart by one (PyTorch's all_gather_tensor and
// reduce_scatter_tensor, torch/distributed/_functional_collectives.py). In parts beside products it
// arrives in place, and sums are over the parts of all ranks (torch/distributed/_symmetric_memory),
// but for gradients of what several products took. What is gathered for a weight's gradient once
// more stands for what recomputation makes again.
void add_copy(Kernels& pass, const Linear& linear, std::uint64_t width, double bytes) {
  if (!is_expert_part(linear.part))
    add_memory(pass, linear.part, "copy", bytes * linear.tokens * static_cast<double>(width));
}

void add_gathers(const ModelSetting& setting, const Linear& linear, PassKernels& kernels) {
  if (!is_cut_by_tokens(setting, linear)) return;
  const double copied = setting.sizes.gathered_copy;
  if (linear.gathers_input) {
    add_collective(kernels.forward, linear.part, "all-gather");
    add_copy(kernels.forward, linear, linear.inputs, copied);
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
    if (cut) add_copy(kernels.forward, linear, linear.outputs, setting.sizes.summed_copy);
    add_collective(kernels.forward, linear.part, sum);
  }
  if (!linear.gathers_input) return;
  if (cut) add_copy(kernels.input_grad, linear, linear.inputs, setting.sizes.summed_gradient_copy);
  add_collective(kernels.input_grad, linear.part, sum);
}

struct Shape {
  double rows = 0;
  double columns = 0;
  double inner = 0;
};

Kernel product(const Linear& linear, DataType type, const Shape& shape, double result_bytes) {
  const double each = config::element_bytes(type);
  const bool is_grouped = linear.count > 1;
  return {.name = is_grouped ? "grouped" : "product",
          .part = linear.part,
          .work = is_grouped ? Work::grouped : Work::product,
          .type = type,
          .rows = shape.rows,
          .columns = shape.columns,
          .inner = shape.inner,
          .count = static_cast<double>(linear.count),
          .flops = 2 * shape.rows * shape.columns * shape.inner * linear.count,
          .bytes = linear.count * (each * shape.inner * (shape.rows + shape.columns) +
                                   result_bytes * shape.rows * shape.columns)};
}

// Routers decide by small differences, so they are never scaled; nor are the logits.
DataType type_of(const ModelSetting& setting, const Linear& linear) {
  const DataType recipe = setting.training.precision;
  const bool plain = linear.part == Part::router || linear.part == Part::head;
  return plain && config::is_scaled(recipe) ? DataType::bf16 : recipe;
}

// A cast reads 16 bits and writes what products take: by rows for one of them and by columns for
// another. Norms write their result cast at once, in place of 16 bits.
double cast_bytes(DataType type, double elements) {
  return elements * (2 + 2 * config::element_bytes(type));
}

bool follows_norm(const Linear& linear) {
  return linear.part == Part::qkv || linear.part == Part::mla_down || linear.part == Part::mla_up ||
         linear.part == Part::recurrence_in || linear.part == Part::mlp_in;
}

// Both norms, both residuals with their dropout.
void add_norm(const ModelSetting& setting, Part part, PassKernels& kernels) {
  const double elements = setting.sizes.spread_tokens * setting.model.hidden;
  add_memory(kernels.forward, part, "norm", 4 * elements);
  add_memory(kernels.input_grad, part, "norm", 8 * elements);
}

void add_residual(const ModelSetting& setting, PassKernels& kernels) {
  const double elements = setting.sizes.spread_tokens * setting.model.hidden;
  const bool dropout = setting.model.dropout > 0;
  add_memory(kernels.forward, Part::residual, "add", (dropout ? 7 : 6) * elements);
  add_memory(kernels.input_grad, Part::residual, "dropout", (dropout ? 5 : 0) * elements);
}

// Of what attention or an MLP gives, before it is added.
void add_post_norm(const ModelSetting& setting, PassKernels& kernels) {
  if (setting.model.post_norms) add_norm(setting, Part::post_norm, kernels);
}

void add_activation(Part part, const Activation& of, PassKernels& kernels) {
  add_memory(kernels.forward, part, "activation", 4 * of.outputs + 2 * of.gates);
  add_memory(kernels.input_grad, part, "activation", 6 * of.outputs + 4 * of.gates);
}

void add(const PassKernels& more, PassKernels& kernels) {
  const auto append = [](const Kernels& from, Kernels& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(more.forward, kernels.forward);
  append(more.input_grad, kernels.input_grad);
  append(more.weight_grad, kernels.weight_grad);
}

void add_linears(const ModelSetting& setting, const std::vector<Linear>& linears, Part first,
                 Part last, PassKernels& kernels) {
  for (const Linear& linear : linears)
    if (first <= linear.part && linear.part <= last) add(linear_kernels(setting, linear), kernels);
}

constexpr std::string_view copy_to_host = "copy to host";

// What follows a router's product, on a number in fp32 for each token and expert, as Megatron-LM
// launches it without fusion (megatron/core/transformer/moe: router.py, moe_utils.py,
// token_dispatcher.py). These are short, but each takes the host as long as any other.
struct OnScores {
  std::string_view name;
  double bytes;  // of each score
};
constexpr std::array<OnScores, 12> forward_on_scores{{{"cast", 6},
                                                      {"softmax", 8},
                                                      {"top-k", 4},
                                                      {"normalise", 0.5},
                                                      {"zeros", 4},
                                                      {"scatter", 1},
                                                      {"map", 1},
                                                      {"counts", 1},
                                                      {"loss", 4},
                                                      {"loss", 4},
                                                      {"splits", 0.1},
                                                      {copy_to_host, 0.1}}};
constexpr std::array<OnScores, 5> backward_on_scores{
    {{"loss", 8}, {"scatter", 4}, {"normalise", 0.5}, {"softmax", 12}, {"cast", 6}}};

void add_scores(const Layer& layer, PassKernels& kernels) {
  for (const Linear& router : layer.router) {
    const double scores = router.tokens * static_cast<double>(router.outputs);
    for (const OnScores& one : forward_on_scores)
      add_memory(kernels.forward, Part::router, one.name, one.bytes * scores);
    for (const OnScores& one : backward_on_scores)
      add_memory(kernels.input_grad, Part::router, one.name, one.bytes * scores);
  }
}

// Experts' tokens put in order, and their dispatch or combination. Where copies are sent they are
// made before; kernels that send tokens once write what they receive.
void add_permutation(const ModelSetting& setting, Part part, std::string_view name,
                     const Layer& layer, Kernels& kernels) {
  using config::Dispatcher;
  const Dispatcher dispatcher = setting.training.experts.dispatcher;
  const bool copies = dispatcher == Dispatcher::alltoall || setting.sizes.ep == 1;
  const double moved = 4 * ((copies ? layer.routing.sent : 0) + layer.routing.received) *
                       setting.model.expert_width();
  add_memory(kernels, part, name, moved);
  if (moved == 0 || setting.sizes.ep == 1) return;
  const bool back = part == Part::unpermute;
  if (dispatcher == Dispatcher::alltoall)
    add_collective(kernels, part, "all-to-all");
  else if (dispatcher == Dispatcher::allgather)
    add_collective(kernels, part, back ? "reduce-scatter" : "all-gather");
  else
    add_collective(kernels, part, back ? "combine" : "dispatch");
}

}  // namespace

std::uint32_t launches(const Kernels& kernels) {
  std::uint32_t all = 0;
  for (const Kernel& kernel : kernels) all += kernel.times;
  return all;
}

void add_memory(Kernels& kernels, Part part, std::string_view name, double bytes) {
  if (bytes > 0)
    kernels.push_back({.name = name, .part = part, .work = Work::memory, .bytes = bytes});
}

PassKernels linear_kernels(const ModelSetting& setting, const Linear& linear) {
  const DataType type = type_of(setting, linear);
  const auto inputs = static_cast<double>(linear.inputs);
  const auto outputs = static_cast<double>(linear.outputs);
  const double tokens = linear.tokens;
  const double sums = 2 * config::gradient_bytes(setting.training);  // read and written
  PassKernels kernels;
  if (config::is_scaled(type)) {
    const double in = tokens * inputs * linear.count;
    const double out = tokens * outputs * linear.count;
    if (!follows_norm(linear))
      add_memory(kernels.forward, linear.part, "cast", cast_bytes(type, in));
    add_memory(kernels.input_grad, linear.part, "cast", cast_bytes(type, out));
  }
  add_gathers(setting, linear, kernels);
  kernels.forward.push_back(product(linear, type, {tokens, outputs, inputs}, 2));
  kernels.input_grad.push_back(product(linear, type, {tokens, inputs, outputs}, 2));
  add_sums(setting, linear, kernels);
  const bool fused = setting.training.fused_accumulation;
  kernels.weight_grad.push_back(product(linear, type, {outputs, inputs, tokens}, fused ? sums : 2));
  if (!fused)
    add_memory(kernels.weight_grad, linear.part, "sum",
               linear.count * inputs * outputs * (2 + sums));
  return kernels;
}

namespace {

void add_attention(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  const Attention& a = layer.attention;
  add_linears(setting, layer.attention_linears, Part::qkv, Part::mla_up, kernels);
  const double normed = setting.model.qk_layernorm ? a.query_size() + a.key_size() : 0;
  add_memory(kernels.forward, Part::qk_norm, "norm", 4 * normed);
  add_memory(kernels.input_grad, Part::qk_norm, "norm", 8 * normed);
  const double rotated = 4 * (setting.model.learned_positions ? 0 : a.query_size() + a.key_size());
  add_memory(kernels.forward, Part::rotary, "rotary", rotated);
  add_memory(kernels.input_grad, Part::rotary, "rotary", rotated);
  add(attention_kernels(setting, a), kernels);
  const double gated = setting.model.output_gate ? a.result_size() : 0;
  add_memory(kernels.forward, Part::projection, "gate", 6 * gated);
  add_memory(kernels.input_grad, Part::projection, "gate", 10 * gated);
  add_linears(setting, layer.attention_linears, Part::projection, Part::projection, kernels);
}

void add_mixer(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  add_norm(setting, attention_norm_part(layer.mixer), kernels);
  if (layer.has_attention()) {
    add_attention(setting, layer, kernels);
  } else {
    const auto add_linear = [&](Part part) {
      add_linears(setting, layer.attention_linears, part, part, kernels);
    };
    add_linear(Part::recurrence_in);
    add(recurrence_kernels(layer), kernels);
    add_linear(Part::recurrence_out);
  }
  add_post_norm(setting, kernels);
  add_residual(setting, kernels);
}

// Megatron-Core adds the second product's bias, times each copy's probability, expert by expert in
// fp32: the product, the sum, all experts' together, and back to 16 bits; and their gradients
// (_apply_bias in megatron/core/transformer/moe/experts.py).
void add_expert_biases(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  const double elements = layer.routing.received * setting.model.expert_width();
  const auto add_each = [&](Kernels& pass, std::initializer_list<double> bytes) {
    for (const double of_element : bytes)
      add_memory(pass, Part::expert_out, "bias", of_element * elements);
  };
  add_each(kernels.forward, {4, 2 + 4 + 4, 4 + 4, 4 + 2});
  add_each(kernels.input_grad, {2 + 4, 4 + 2, 4 + 4 + 4, 4 + 4 + 4});
}

// Transformer Engine's fused operations (use_transformer_engine_op_fuser) make the activation
// function, what the next product takes and biases at the end of a product, forward after the first
// and backward after the second.
void add_experts(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  PassKernels experts;
  add_linears(setting, layer.expert_linears, Part::expert_in, Part::expert_in, experts);
  add_activation(Part::expert_activation, layer.experts, experts);
  add_linears(setting, layer.expert_linears, Part::expert_out, Part::expert_out, experts);
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
  add(experts, kernels);
}

// An MLP, or router and experts.
void add_feed_forward(const ModelSetting& setting, LayerKind kind, const Layer& layer,
                      PassKernels& kernels) {
  add_norm(setting, mlp_norm_part(kind), kernels);
  add_linears(setting, layer.mlp_linears, Part::mlp_in, Part::mlp_in, kernels);
  add_activation(Part::activation, layer.mlp, kernels);
  add_linears(setting, layer.mlp_linears, Part::mlp_out, Part::mlp_out, kernels);
  add_linears(setting, layer.latent_linears, Part::latent_in, Part::latent_in, kernels);
  add_linears(setting, layer.router, Part::router, Part::router, kernels);
  add_scores(layer, kernels);
  for (Kernels* const pass : {&kernels.forward, &kernels.input_grad})
    add_permutation(setting, Part::permute, "permute", layer, *pass);
  add_experts(setting, layer, kernels);
  for (Kernels* const pass : {&kernels.forward, &kernels.input_grad})
    add_permutation(setting, Part::unpermute, "unpermute", layer, *pass);
  add_linears(setting, layer.latent_linears, Part::latent_out, Part::latent_out, kernels);
  add_linears(setting, layer.mlp_linears, Part::shared_in, Part::shared_in, kernels);
  add_activation(Part::shared_activation, layer.shared, kernels);
  add_linears(setting, layer.mlp_linears, Part::shared_out, Part::shared_out, kernels);
  add_post_norm(setting, kernels);
  add_residual(setting, kernels);
}

// The host waits to read how many tokens its experts get, so that nothing is launched ahead: the
// GPU waits in turn until they are sent, or where they stay until the experts' first product. A
// graph of the whole iteration, whose buffers are large enough for any number, does without
// (Megatron-Core's dropless dispatchers, cuda_sync_point in
// megatron/core/transformer/moe/token_dispatcher.py).
void add_stall(const ModelSetting& setting, Kernels& forward) {
  if (setting.training.cuda_graphs == config::CudaGraphs::iteration) return;
  const auto copy = std::ranges::find(forward, copy_to_host, &Kernel::name);
  const auto next = std::find_if(copy, forward.end(), [](const Kernel& kernel) {
    return kernel.part > Part::router && kernel.work != Work::memory;
  });
  copy->stalls = static_cast<double>(next - copy);
}

}  // namespace

PassKernels layer_kernels(const ModelSetting& setting, LayerKind kind) {
  const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
  PassKernels kernels;
  if (layer.mixer != Mixer::none) add_mixer(setting, layer, kernels);
  if (feed_forward_of(kind) != FeedForward::none) add_feed_forward(setting, kind, layer, kernels);
  if (!layer.router.empty()) add_stall(setting, kernels.forward);
  return kernels;
}

PassKernels embedding_kernels(const ModelSetting& setting) {
  const double elements = setting.sizes.tokens * setting.model.hidden;
  PassKernels kernels;
  add_memory(kernels.forward, Part::embedding, "lookup", 4 * elements);
  if (setting.model.dropout > 0)
    add_memory(kernels.forward, Part::embedding, "dropout",
               5 * setting.sizes.spread_tokens * setting.model.hidden);
  // Rows of the gradient, summed one by one.
  add_memory(kernels.weight_grad, Part::embedding, "sum",
             (2 + 2 * config::gradient_bytes(setting.training)) * elements);
  return kernels;
}

PassKernels mtp_kernels(const ModelSetting& setting) {
  PassKernels kernels = embedding_kernels(setting);
  for (int norm = 0; norm < 2; ++norm) add_norm(setting, Part::mtp_norm, kernels);
  // Both put side by side, read and written.
  add_memory(kernels.forward, Part::mtp_projection, "concat",
             2 * 4 * setting.sizes.spread_tokens * setting.model.hidden);
  add(linear_kernels(setting, mtp_projection(setting.model, setting.sizes)), kernels);
  // Each rank of tp has made a part of the result.
  if (setting.sizes.tp > 1) add_collective(kernels.forward, Part::mtp_projection, "all-gather");
  add(layer_kernels(setting, kind_of_mtp(setting.model)), kernels);
  return kernels;
}

PassKernels head_kernels(const ModelSetting& setting) {
  const Sizes& sizes = setting.sizes;
  const std::uint64_t vocabulary = sizes.vocabulary / sizes.tp;
  PassKernels kernels;
  add_norm(setting, Part::head_norm, kernels);
  add(linear_kernels(setting, {.part = Part::head,
                               .tokens = sizes.tokens,
                               .inputs = setting.model.hidden,
                               .outputs = vocabulary}),
      kernels);
  // The loss in its steps: to fp32 (6), greatest (4), difference (8), exponential and sum (6); the
  // gradient (8) and back to 16 bits (2 of 6 in cache). Fused: read twice, write once.
  const double logits = sizes.tokens * static_cast<double>(vocabulary);
  // The greatest logit of each token, that of its target and the sum.
  if (sizes.tp > 1)
    for (int step = 0; step < 3; ++step) add_collective(kernels.forward, Part::loss, "all-reduce");
  add_memory(kernels.forward, Part::loss, "loss", (setting.training.fused_loss ? 4 : 24) * logits);
  add_memory(kernels.input_grad, Part::loss, "loss",
             (setting.training.fused_loss ? 4 : 10) * logits);
  return kernels;
}

}  // namespace pipewright::workload
