#include "sim/workload/model/activation_memory.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/training_checks.hpp"
#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/recompute.hpp"

// 16 bits an element, masks 1 byte; what scaled products take, in their type.
namespace pipewright::workload {
namespace {

double hidden_bytes(const ModelSetting& setting, double bytes) {
  return bytes * setting.sizes.spread_tokens * setting.model.hidden;
}

double mask_bytes(const ModelSetting& setting, double masks) {
  return setting.model.dropout > 0 ? hidden_bytes(setting, masks) : 0;
}

// Scores after softmax; with dropout its mask, and scores after it.
double score_bytes(const ModelSetting& setting, const Attention& attention) {
  if (setting.training.flash_attention) return 0;
  return attention.scores() * (setting.model.dropout > 0 ? 5 : 2);
}

// Sums of rows, which flash attention keeps to make the scores again, in fp32.
double row_sum_bytes(const ModelSetting& setting, const Attention& attention) {
  return setting.training.flash_attention ? 4 * attention.tokens() * attention.heads : 0;
}

double attention_tensors(const Attention& a) {
  return 2 * (a.query_size() + a.key_size() + a.value_size());
}

// What a product keeps of its input: of scaled types the copy that W takes.
double input_element(const ModelSetting& setting) {
  return config::element_bytes(setting.training.precision);
}

// Both halves of latent attention's compression keep a scaled copy each of the norm's result.
double attention_norm_bytes(const ModelSetting& setting, Mixer mixer) {
  const bool twice = mixer == Mixer::latent && config::is_scaled(setting.training.precision);
  return hidden_bytes(setting, (twice ? 2 : 1) * input_element(setting));
}

// Of each number that a router makes: Transformer Engine's fused router keeps those of top-k and
// those of the balance loss in fp32 and a map in bytes (transformer_engine/pytorch/router.py).
constexpr double router_bytes = 4 + 4 + 1;

// Where each copy of a token goes, two integers an expert and one more; tokens are put in order
// before they are sent, or else where they arrive (moe_permute_with_probs of
// transformer_engine/pytorch/permutation.py: row_id_map).
double row_map_bytes(const ModelSetting& setting, const Layer& layer) {
  using config::Dispatcher;
  const double experts = setting.model.experts->count;
  if (setting.training.experts.dispatcher == Dispatcher::alltoall || setting.sizes.ep == 1)
    return 4 * setting.sizes.spread_tokens * (2 * experts + 1);
  return 4 * layer.routing.received * (2 * experts / setting.sizes.ep + 1);
}

// Bytes of what a layer keeps beside its input, by what made it: `add(part, work, bytes)`.
template <class Add>
void each_kept_of_attention(const ModelSetting& setting, const Layer& layer, const Add& add) {
  using Work = Kernel::Work;
  const Attention& a = layer.attention;
  add(Part::mla_down, Work::product, 2 * layer.compressed);
  add(Part::mla_up, Work::memory, input_element(setting) * layer.compressed_norms);
  add(layer.mixer == Mixer::latent ? Part::mla_up : Part::qkv, Work::product, attention_tensors(a));
  if (setting.model.qk_layernorm)
    add(Part::qk_norm, Work::memory, 2 * (a.query_size() + a.key_size()));
  add(Part::core_attention, Work::scores, score_bytes(setting, a) + row_sum_bytes(setting, a));
  // Attention's backward needs its result in 16 bits, and the projection scales that once more.
  add(Part::projection, Work::attention, 2 * a.result_size());
  if (!setting.model.output_gate) return;  // else gates, and the gated result
  add(Part::qkv, Work::product, 2 * a.result_size());
  add(Part::projection, Work::memory, input_element(setting) * a.result_size());
}

// What the first product gives, from which the convolution is made again, the result before its
// gates and after (mamba_split_conv1d_scan_combined of mamba_ssm). A gated delta net keeps what the
// convolution gives as well, with its queries and keys as they are normed, and the inverse of each
// chunk's scores (chunk_gated_delta_rule of flash-linear-attention).
template <class Add>
void each_kept_of_recurrence(const ModelSetting& setting, const Layer& layer, const Add& add) {
  using Work = Kernel::Work;
  const Recurrence& r = layer.recurrence;
  add(Part::recurrence_in, Work::product, 2 * r.elements(r.projected));
  add(Part::recurrence, Work::memory, 2 * r.elements(r.values));
  add(Part::recurrence_norm, Work::memory, input_element(setting) * r.elements(r.values));
  if (layer.mixer != Mixer::linear) return;
  add(Part::convolution, Work::memory, 2 * r.elements(r.channels));
  add(Part::recurrence, Work::memory, 2 * r.elements(r.channels - r.values + r.scores));
}

// Of experts as Megatron-Core has them (megatron/core/transformer/moe: experts.py, moe_utils.py,
// token_dispatcher.py): products keep what they take, the activation function what it takes and
// each copy's probability in fp32; dispatch, combination and permutations keep no token.
template <class Add>
void each_kept_of_feed_forward(const ModelSetting& setting, const Layer& layer, const Add& add) {
  using Work = Kernel::Work;
  const double element = input_element(setting);
  const double taken = setting.training.activation_func_fp8_input_store ? 1 : 2;
  const auto add_mlp = [&](Part in, Part activation, const Activation& of) {
    add(in, Work::product, (of.gates > 0 ? taken : 2) * (of.outputs + of.gates));
    add(activation, Work::memory, element * of.outputs);
  };
  add_mlp(Part::mlp_in, Part::activation, layer.mlp);
  add_mlp(Part::shared_in, Part::shared_activation, layer.shared);
  // Beside the dispatch shared experts gather their tokens themselves, and keep all of them.
  if (setting.training.experts.shared_overlap && setting.sizes.sequence_parallel &&
      layer.shared.outputs > 0)
    add(Part::shared_in, Work::memory, 2 * setting.sizes.tokens * setting.model.hidden);
  if (layer.router.empty()) return;
  const Linear& router = layer.router.front();
  add(Part::router, Work::memory,
      router_bytes * router.tokens * static_cast<double>(router.outputs));
  add(Part::permute, Work::memory,
      (element * setting.model.expert_width() + 4) * layer.routing.received +
          row_map_bytes(setting, layer));
  add_mlp(Part::expert_in, Part::expert_activation, layer.experts);
  for (const Linear& linear : layer.latent_linears)  // what goes in has been kept, or is sent on
    if (linear.part == Part::latent_out)
      add(Part::latent_out, Work::memory,
          element * linear.tokens * static_cast<double>(linear.inputs));
  // Gated functions are one kernel with the probabilities, of others the product keeps its factor.
  if (layer.experts.gates == 0) add(Part::expert_activation, Work::memory, 2 * layer.experts.outputs);
}

// A norm keeps what it takes, and dropout its mask.
template <class Add>
void add_result(const ModelSetting& setting, const Add& add) {
  if (setting.model.post_norms)
    add(Part::post_norm, Kernel::Work::product, hidden_bytes(setting, 2));
  add(Part::residual, Kernel::Work::memory, mask_bytes(setting, 1));
}

template <class Add>
void each_kept(const ModelSetting& setting, LayerKind kind, const Layer& layer, const Add& add) {
  using Work = Kernel::Work;
  const bool mixes = layer.mixer != Mixer::none;
  if (mixes) {
    add(attention_norm_part(layer.mixer), Work::memory, attention_norm_bytes(setting, layer.mixer));
    if (layer.has_attention())
      each_kept_of_attention(setting, layer, add);
    else
      each_kept_of_recurrence(setting, layer, add);
    add_result(setting, add);
  }
  if (feed_forward_of(kind) == FeedForward::none) return;
  if (mixes) add(Part::residual, Work::memory, hidden_bytes(setting, 2));
  // Routers and shared experts keep the norm's result in 16 bits.
  add(mlp_norm_part(kind), Work::memory,
      hidden_bytes(setting, layer.router.empty() ? input_element(setting) : 2));
  each_kept_of_feed_forward(setting, layer, add);
  add_result(setting, add);
}

double weight_grad_bytes(const ModelSetting& setting, const std::vector<Linear>& linears) {
  const double cut = setting.sizes.sequence_parallel ? 1.0 / setting.sizes.tp : 1;
  double bytes = 0;
  for (const Linear& linear : linears) {
    const double tokens = linear.tokens * linear.count;
    const double kept = is_expert_part(linear.part) ? 1 : cut;
    bytes += input_element(setting) * tokens *
             (static_cast<double>(linear.inputs) * (linear.gathers_input ? kept : 1) +
              static_cast<double>(linear.outputs) * (linear.scatters_output ? kept : 1));
  }
  return bytes;
}

// The gradients alive at once of experts: of their tokens as they are sent and as they arrive, or
// of what goes into the activation function and comes out, and of the tokens.
double expert_gradient_bytes(const ModelSetting& setting, const Layer& layer) {
  const double each = 2 * setting.model.expert_width();
  const double arrived = each * layer.routing.received;
  return arrived + std::max(each * layer.routing.sent, 2 * layer.experts.inputs_and_outputs());
}

// The gradients alive at once in the larger part of a layer: of scores in three states, or of Q,
// K, V and the result; of what goes into the activation function and comes out.
double gradient_bytes(const ModelSetting& setting, const Layer& layer) {
  const double scores = setting.training.flash_attention ? 0 : 6 * layer.attention.scores();
  const double attention =
      scores + attention_tensors(layer.attention) + 2 * layer.attention.result_size();
  const Recurrence& r = layer.recurrence;
  return std::max({attention, 2 * r.elements(r.projected + 2 * r.values), 2 * layer.mlp.inputs_and_outputs(),
                   2 * layer.shared.inputs_and_outputs(), expert_gradient_bytes(setting, layer)}) +
         hidden_bytes(setting, 4);
}

// Of one GPU; the vocabulary is padded so that tp divides it.
double logits_on_gpu(const ModelSetting& setting) {
  const auto vocabulary = setting.sizes.vocabulary / setting.sizes.tp;
  return setting.sizes.tokens * static_cast<double>(vocabulary);
}

}  // namespace

ActivationBytes layer_bytes(const ModelSetting& setting, LayerKind kind) {
  const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
  const config::Recompute& recompute = setting.training.recompute;
  ActivationBytes bytes{.held = hidden_bytes(setting, 2),
                        .for_w = weight_grad_bytes(setting, linears_of(layer)),
                        .working = gradient_bytes(setting, layer)};
  each_kept(setting, kind, layer, [&](Part part, Kernel::Work work, double kept) {
    const double freed = kept * share_recomputed(recompute, part, work);
    bytes.held += kept - freed;
    bytes.working += freed;
  });
  return bytes;
}

ActivationBytes layer_bytes(const ModelSetting& setting, LayerRange stage, std::uint32_t layer) {
  const config::Recompute& recompute = setting.training.recompute;
  const LayerKind kind = kind_of_layer(setting.model, layer);
  const bool again = is_recomputed(recompute, stage, layer);
  if (again && recompute.uniform == 1) return layer_bytes(setting, kind);
  config::Training keeps_all = setting.training;
  keeps_all.recompute = {};
  const ModelSetting without{setting.model, keeps_all, setting.sizes};
  if (!again) return layer_bytes(without, kind);
  ActivationBytes bytes = layer_bytes(setting, kind);
  // A group of layers keeps the input of the first one alone.
  if ((layer - stage.first) % recompute.uniform != 0) bytes.held -= hidden_bytes(setting, 2);
  bytes.working += (recompute.uniform - 1) * layer_bytes(without, kind).held;
  return bytes;
}

bool frees_nothing(const ModelSetting& setting) {
  config::Training keeps_all = setting.training;
  keeps_all.recompute = {};
  const ModelSetting without{setting.model, keeps_all, setting.sizes};
  const auto same = [&](LayerKind kind) {
    constexpr double worth_it = 0.99;  // sums of rows, which attention keeps, are less
    return layer_bytes(setting, kind).held > worth_it * layer_bytes(without, kind).held;
  };
  return std::ranges::all_of(kinds_of(setting.model), same);
}

std::string idle_recompute_note(const ModelSetting& setting) {
  const config::Recompute& recompute = setting.training.recompute;
  if (recompute == config::Recompute{} || !frees_nothing(setting)) return {};
  std::vector<std::string_view> freeing;
  for (std::size_t i = 0; i < config::recompute_modules.size(); ++i) {
    config::Training of_one = setting.training;
    of_one.recompute = {.granularity = config::Recompute::Granularity::selective, .modules = 0};
    of_one.recompute.modules.set(i);
    if (has_module(setting.model, static_cast<config::RecomputeModule>(i)) &&
        !frees_nothing({setting.model, of_one, setting.sizes}))
      freeing.push_back(config::recompute_modules[i]);
  }
  const bool scores = recompute.has(config::RecomputeModule::core_attn);
  const std::string_view why = scores ? " and takes time: flash attention keeps no scores"
                                      : ": its norms are a part of the products that take them";
  return fmt::format(
      "recompute {} frees nothing of this model{}; what frees memory of it: "
      "recompute: {{modules: [..]}} with {}",
      to_string(recompute), why, fmt::join(freeing, ", "));
}

ActivationBytes mtp_bytes(const ModelSetting& setting) {
  ActivationBytes bytes = layer_bytes(setting, kind_of_mtp(setting.model));
  // The norms keep what comes in and the embedding, the projection both side by side. Where all of
  // a layer is made again, its input is as well.
  const double again =
      share_recomputed(setting.training.recompute, Part::mtp_projection, Kernel::Work::product);
  const double freed = again * hidden_bytes(setting, 2 * input_element(setting)) +
                       (again == 1 ? hidden_bytes(setting, 2) : 0);
  bytes.held += hidden_bytes(setting, 2 * 2 + 2 * input_element(setting)) - freed;
  bytes.held += embedding_bytes(setting).held;
  bytes.for_w += weight_grad_bytes(setting, {mtp_projection(setting.model, setting.sizes)});
  bytes.working += freed;
  return bytes;
}

ActivationBytes embedding_bytes(const ModelSetting& setting) {
  return {.held = mask_bytes(setting, 1)};
}

ActivationBytes head_bytes(const ModelSetting& setting) {
  // The loss turns bf16 logits into their gradient in place; fp32 ones have it beside them.
  return {.held = hidden_bytes(setting, 4),
          .for_w = hidden_bytes(setting, 2),
          .working = setting.training.fused_loss ? 0 : logits_grad_bytes(setting)};
}

double logits_bytes(const ModelSetting& setting) {
  return (setting.training.fused_loss ? 2 : 4) * logits_on_gpu(setting);
}

double logits_grad_bytes(const ModelSetting& setting) { return 2 * logits_on_gpu(setting); }

namespace {

// Of the layers that have it; of none, of no heads.
Attention attention_of(const ModelSetting& setting) {
  for (const LayerKind kind : kinds_of(setting.model)) {
    const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
    if (layer.has_attention()) return layer.attention;
  }
  return {};
}

}  // namespace

double score_buffer_bytes(const ModelSetting& setting) {
  if (setting.training.flash_attention) return 0;
  return 2 * attention_of(setting).scores();
}

double context_buffer_bytes(const ModelSetting& setting) {
  using config::ContextComm;
  if (setting.sizes.cp == 1) return 0;
  const Attention attention = attention_of(setting);
  const double keys = 2 * (attention.key_size() + attention.value_size());
  const double ring = 2 * 2 * keys;
  const double exchanged = 2 * (attention.query_size() + attention.result_size()) + keys;
  switch (setting.sizes.cp_comm) {
    case ContextComm::p2p:
      break;
    case ContextComm::all_gather:
      return 2 * setting.sizes.cp * keys;
    case ContextComm::a2a:
      return exchanged;
    case ContextComm::a2a_p2p:
      return (setting.sizes.cp_a2a > 1 ? exchanged : 0) + (setting.sizes.cp_ring() > 1 ? ring : 0);
  }
  return ring;
}

}  // namespace pipewright::workload
