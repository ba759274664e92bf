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

// Bytes of what a layer keeps beside its input, by what made it: `add(part, work, bytes)`.
template <class Add>
void each_kept(const ModelSetting& setting, const Layer& layer, const Add& add) {
  using Work = Kernel::Work;
  const double element = input_element(setting);
  const Attention& a = layer.attention;
  add(Part::attention_norm, Work::memory, hidden_bytes(setting, element));
  add(Part::mla_down, Work::product, 2 * layer.compressed);
  add(setting.model.latent ? Part::mla_up : Part::qkv, Work::product, attention_tensors(a));
  add(Part::core_attention, Work::scores, score_bytes(setting, a) + row_sum_bytes(setting, a));
  // Attention's backward needs its result in 16 bits, the projection what it takes.
  const bool scaled = config::is_scaled(setting.training.precision);
  add(Part::projection, Work::attention, (2 + (scaled ? element : 0)) * a.result_size());
  add(Part::residual, Work::memory, hidden_bytes(setting, 2) + mask_bytes(setting, 2));
  add(Part::mlp_norm, Work::memory, hidden_bytes(setting, element));
  const auto add_mlp = [&](Part in, Part activation, const Activation& of) {
    add(in, Work::product, 2 * (of.made + of.gates));
    add(activation, Work::memory, element * of.made);
  };
  add_mlp(Part::mlp_in, Part::activation, layer.mlp);
  add_mlp(Part::shared_in, Part::shared_activation, layer.shared);
  if (layer.router.empty()) return;
  // What experts get and give, and the probabilities of each token's experts in fp32.
  const Linear& router = layer.router.front();
  add(Part::router, Work::memory, 4 * router.tokens * static_cast<double>(router.outputs));
  add(Part::permute, Work::memory, element * layer.routing.received * setting.model.hidden);
  add_mlp(Part::expert_in, Part::expert_activation, layer.experts);
  add(Part::unpermute, Work::memory, 2 * layer.routing.sent * setting.model.hidden);
}

double weight_grad_bytes(const ModelSetting& setting, const std::vector<Linear>& linears) {
  const double cut = setting.sizes.sequence_parallel ? 1.0 / setting.sizes.tp : 1;
  double bytes = 0;
  for (const Linear& linear : linears) {
    const double tokens = linear.tokens * linear.count;
    const double kept = is_of_experts(linear.part) ? 1 : cut;
    bytes += input_element(setting) * tokens *
             (static_cast<double>(linear.inputs) * (linear.gathers_input ? kept : 1) +
              static_cast<double>(linear.outputs) * (linear.scatters_output ? kept : 1));
  }
  return bytes;
}

// The gradients alive at once in the larger half of a layer: of scores in three states, or of Q,
// K, V and the result; of what goes into the activation function and comes out.
double gradient_bytes(const ModelSetting& setting, const Layer& layer) {
  const double scores = setting.training.flash_attention ? 0 : 6 * layer.attention.scores();
  const double attention =
      scores + attention_tensors(layer.attention) + 2 * layer.attention.result_size();
  const double mlp = 2 * layer.activations();
  return std::max(attention, mlp) + hidden_bytes(setting, 4);
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
  each_kept(setting, layer, [&](Part part, Kernel::Work work, double kept) {
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
  for (const LayerKind kind : {LayerKind::dense, LayerKind::experts})
    if (layers_of(setting.model, kind) > 0 && !same(kind)) return false;
  return true;
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
  return fmt::format(
      "recompute {} frees nothing of this model and takes time{}; what frees memory of it: "
      "recompute: {{modules: [..]}} with {}",
      to_string(recompute), scores ? ": flash attention keeps no scores" : "",
      fmt::join(freeing, ", "));
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

double score_buffer_bytes(const ModelSetting& setting) {
  if (setting.training.flash_attention) return 0;
  return 2 * layer_on_gpu(setting.model, LayerKind::dense, setting.sizes).attention.scores();
}

double context_buffer_bytes(const ModelSetting& setting) {
  using config::ContextComm;
  if (setting.sizes.cp == 1) return 0;
  const Attention attention =
      layer_on_gpu(setting.model, LayerKind::dense, setting.sizes).attention;
  const double keys = 2 * (attention.key_size() + attention.value_size());
  switch (setting.sizes.cp_comm) {
    case ContextComm::p2p:
      break;
    case ContextComm::all_gather:
      return 2 * setting.sizes.cp * keys;
    case ContextComm::a2a:
      return 2 * (attention.query_size() + attention.result_size()) + keys;
  }
  return 2 * 2 * keys;
}

}  // namespace pipewright::workload
