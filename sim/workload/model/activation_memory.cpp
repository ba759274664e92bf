#include "sim/workload/model/activation_memory.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/training_checks.hpp"
#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/recompute.hpp"
#include "sim/workload/shape/fine_tuning.hpp"
#include "sim/workload/shape/precision.hpp"

// Activations are stored in elements of 16 or 32 bits and masks of 1 byte, but the inputs of
// products with a scaled type, such as FP8, in elements of that type.
namespace pipewright::workload {
namespace {

using Module = config::OffloadModule;
using Work = Kernel::Work;

// Module of fine-grained offloading that saves a tensor; empty: such offloading leaves the tensor
// on the GPU.
using Saver = std::optional<Module>;

// Returns the bytes of an element that is stored in no scaled type.
double value_bytes(const ModelSetting& setting) {
  return config::value_bytes(setting.training.precision);
}

double hidden_bytes(const ModelSetting& setting, double bytes) {
  return bytes * setting.sizes.spread_tokens * setting.model.hidden;
}

// Returns the bytes of so many tensors of hidden states.
double hidden_states(const ModelSetting& setting, double tensors) {
  return hidden_bytes(setting, tensors * value_bytes(setting));
}

// Returns the bytes of what layers pass to each other: a hidden state or the residual streams.
double residual_states(const ModelSetting& setting) {
  return hidden_states(setting, setting.model.residual_streams);
}

double mask_bytes(const ModelSetting& setting, double masks) {
  return setting.model.dropout > 0 ? hidden_bytes(setting, masks) : 0;
}

// Returns whether attention stores no scores.
bool stores_no_scores(const ModelSetting& setting, const Attention& attention) {
  return setting.training.flash_attention || attention.sparse;
}

// Returns the bytes of the attention scores that are saved: those after softmax and, with dropout,
// also its mask and the scores after it. Flash attention saves none.
double score_bytes(const ModelSetting& setting, const Attention& attention) {
  if (stores_no_scores(setting, attention)) return 0;
  const double value = value_bytes(setting);
  return attention.scores() * (setting.model.dropout > 0 ? 2 * value + 1 : value);
}

// Returns the bytes of the fp32 row sums that flash attention saves, to recompute the scores from
// them.
double row_sum_bytes(const ModelSetting& setting, const Attention& attention) {
  return stores_no_scores(setting, attention) ? 4 * attention.tokens() * attention.heads : 0;
}

double attention_tensors(const ModelSetting& setting, const Attention& a) {
  return value_bytes(setting) * (a.query_size() + a.key_size() + a.value_size());
}

// Returns the bytes of queries, keys and values that attention saves: in FP8 only their casts.
double saved_attention_tensors(const ModelSetting& setting, const Attention& a) {
  const config::DataType type = type_of(setting, Part::core_attention);
  if (!config::is_scaled(type)) return attention_tensors(setting, a);
  return attention_copies(type) * config::element_bytes(type) *
         (a.query_size() + a.key_size() + a.value_size());
}

// Returns the bytes per element of the input that a product of this part saves for its weight
// gradient. With a scaled type, only the input cast to that type is saved. A product with a frozen
// matrix saves nothing: the gradient of its input needs the matrix alone.
double input_element(const ModelSetting& setting, Part part) {
  if (is_frozen(setting.training, part)) return 0;
  return config::saved_bytes(type_of(setting, part));
}

// Returns the bytes of the norm's result that attention saves. The two down-projections of latent
// attention save a copy each if the type is scaled.
double attention_norm_bytes(const ModelSetting& setting, Mixer mixer) {
  const bool has_two_copies =
      has_low_rank(mixer) && config::keeps_casts(type_of(setting, Part::qkv));
  return hidden_bytes(setting, (has_two_copies ? 2 : 1) * input_element(setting, Part::qkv));
}

// Calls add(part, work, bytes, saver) for what adapters save: the input of A, in 16 bits and before
// the ranks of tp split it, and the result of A, which is the input of B. The adapters of a product
// share its input, unless each has a dropout of its own, which also saves its mask. The input of
// the output projection is the result of attention, which attention saves anyway.
template <class Add>
void add_saved_adapters(const ModelSetting& setting, const Layer& layer, const Add& add) {
  const double value = value_bytes(setting);
  for (const Linear& linear : linears_of(layer)) {
    const std::vector<Adapter> adapters = adapters_of(setting, linear);
    if (adapters.empty()) continue;
    const bool drops = setting.training.lora->dropout > 0;
    const double inputs = linear.tokens * static_cast<double>(linear.inputs) * linear.count *
                          (drops ? static_cast<double>(adapters.size()) * (value + 1) : value);
    const bool is_saved = linear.part == Part::projection && !setting.model.output_gate && !drops;
    double between = 0;
    for (const Adapter& adapter : adapters)
      between += value * adapter.b.tokens * static_cast<double>(adapter.b.inputs) * adapter.b.count;
    add(linear.part, Work::memory, (is_saved ? 0 : inputs) + between, Saver{});
  }
}

// Bytes per score that a router saves: Transformer Engine's fused router saves the scores of top-k
// and those of the balance loss in fp32, and a map in bytes (transformer_engine/pytorch/router.py).
constexpr double router_bytes = 4 + 4 + 1;

// Returns the bytes of the map that assigns copies of tokens to experts. It has two integers per
// expert and one more for each token that is permuted: before tokens are sent, or else where they
// arrive (moe_permute_with_probs of transformer_engine/pytorch/permutation.py: row_id_map).
double row_map_bytes(const ModelSetting& setting, const Layer& layer) {
  using config::Dispatcher;
  const double experts = setting.model.experts->count;
  if (setting.training.experts.dispatcher == Dispatcher::alltoall || setting.sizes.ep == 1)
    return 4 * setting.sizes.spread_tokens * (2 * experts + 1);
  return 4 * layer.routing.received * (2 * experts / setting.sizes.ep + 1);
}

// Calls add(part, work, bytes, saver) for each tensor that attention saves for its backward pass,
// with the part and the work that made it. Row sums of flash attention are smaller than the
// smallest tensors that fine-grained offloading moves (--min-offloaded-tensor-size).
template <class Add>
void add_saved_attention(const ModelSetting& setting, const Layer& layer, const Add& add) {
  const Attention& a = layer.attention;
  const double value = value_bytes(setting);
  const bool is_gated = setting.model.output_gate;
  add(Part::mla_down, Work::product, value * layer.compressed, Module::qkv_linear);
  add(Part::mla_up, Work::memory, input_element(setting, Part::mla_up) * layer.compressed_norms,
      Module::qkv_linear);
  add(has_low_rank(layer.mixer) ? Part::mla_up : Part::qkv, Work::product,
      saved_attention_tensors(setting, a), Module::core_attn);
  add(Part::projection, Work::product, value * layer.absorbed, Saver{});
  add(Part::compressor, Work::product, value * layer.pooled_inputs, Saver{});
  // The gradients of an indexer are computed beside its scores.
  if (learned_pairs(setting, layer) > 0)
    add(Part::indexer, Work::product, value * layer.indexed, Saver{});
  constexpr double index_bytes = 4;
  if (layer.indexing.chooses())
    add(Part::index_scores, Work::memory, index_bytes * layer.indexing.chosen_pairs(), Saver{});
  if (setting.model.qk_layernorm)
    add(Part::qk_norm, Work::memory, value * (a.query_size() + a.key_size()), Module::qkv_linear);
  add(Part::core_attention, Work::scores, score_bytes(setting, a), Module::core_attn);
  add(Part::core_attention, Work::scores, row_sum_bytes(setting, a), Saver{});
  // The backward pass of attention needs the result unscaled; the projection saves it once more in
  // a scaled type.
  add(Part::projection, Work::attention, value * a.result_size(),
      is_gated ? Module::core_attn : Module::attn_proj);
  if (!is_gated) return;  // otherwise also the gates and the gated result
  add(Part::qkv, Work::product, value * a.result_size(), Saver{});
  add(Part::projection, Work::memory, input_element(setting, Part::projection) * a.result_size(),
      Module::attn_proj);
}

// Calls add(part, work, bytes, saver) for what a recurrence saves: the output of the input
// projection, from which the convolution is recomputed, and the result before and after gating
// (mamba_split_conv1d_scan_combined of mamba_ssm). A gated delta net also saves the output of the
// convolution, the normed queries and keys, and the inverse of each chunk's scores
// (chunk_gated_delta_rule of flash-linear-attention). Products of low rank save both results. A
// short convolution saves its input and its output, and the result of the second gate. Mamba-1 also
// saves the output of the convolution, which its product and its scan read.
template <class Add>
void add_saved_recurrence(const ModelSetting& setting, const Layer& layer, const Add& add) {
  const Recurrence& r = layer.recurrence;
  const double value = value_bytes(setting);
  const auto keep = [&](Part part, Work work, double bytes) { add(part, work, bytes, Saver{}); };
  keep(Part::recurrence_in, Work::product, value * r.elements(r.projected));
  keep(Part::recurrence, Work::product, value * r.elements(r.derived));
  keep(Part::recurrence, Work::memory, value * r.elements(r.values));
  keep(Part::recurrence_norm, Work::memory,
       input_element(setting, Part::recurrence_out) * r.elements(r.values));
  const bool is_scan = has_mamba(layer.mixer) && setting.model.mamba->step_rank > 0;
  if (is_scan || layer.mixer == Mixer::convolution)
    keep(Part::convolution, Work::memory, value * r.elements(r.channels));
  if (layer.mixer != Mixer::linear) return;
  keep(Part::convolution, Work::memory, value * r.elements(r.channels));
  keep(Part::recurrence, Work::memory, value * r.elements(r.channels - r.values + r.scores));
}

// Calls add(part, work, bytes, saver) for what an MLP, or a router with its experts, saves. As in
// Megatron-Core (megatron/core/transformer/moe: experts.py, moe_utils.py, token_dispatcher.py),
// products of experts save their input, and the activation function saves its input and the
// probability of each copy in fp32. Dispatch, combination and permutations save no tokens.
template <class Add>
void add_saved_feed_forward(const ModelSetting& setting, const Layer& layer, const Add& add) {
  const double value = value_bytes(setting);
  const double input_bytes = setting.training.activation_func_fp8_input_store ? 1 : value;
  const auto add_mlp = [&](Part in, Part activation, Part out, const Activation& activation_size,
                           Saver saver) {
    add(in, Work::product,
        (activation_size.gates > 0 ? input_bytes : value) *
            (activation_size.outputs + activation_size.gates),
        saver);
    add(activation, Work::memory, input_element(setting, out) * activation_size.outputs, Saver{});
    // An activation function in a kernel of its own saves its result for the product with the gate.
    if (activation_size.gates > 0 && !setting.training.stack.fuses(config::Fusable::activation))
      add(activation, Work::memory, value * activation_size.outputs, saver);
  };
  add_mlp(Part::mlp_in, Part::activation, Part::mlp_out, layer.mlp, {});
  add_mlp(Part::shared_in, Part::shared_activation, Part::shared_out, layer.shared, {});
  // Shared experts that overlap with the dispatch of tokens gather their input themselves, and save
  // all gathered tokens.
  if (setting.training.experts.shared_overlap && setting.sizes.sequence_parallel &&
      layer.shared.outputs > 0 && !is_frozen(setting.training, Part::shared_in))
    add(Part::shared_in, Work::memory, value * setting.sizes.tokens * setting.model.hidden,
        Saver{});
  if (layer.router.empty()) return;
  const Linear& router = layer.router.front();
  add(Part::router, Work::memory,
      router_bytes * router.tokens * static_cast<double>(router.outputs), Saver{});
  add(Part::permute, Work::memory,
      input_element(setting, Part::expert_in) * setting.model.expert_width() *
          layer.routing.received,
      Module::expert_fc1);
  add(Part::permute, Work::memory, 4 * layer.routing.received + row_map_bytes(setting, layer),
      Saver{});
  add_mlp(Part::expert_in, Part::expert_activation, Part::expert_out, layer.experts,
          Module::moe_act);
  // The down-projection of latent experts saves nothing more: its input is saved already, and its
  // output is sent on. The up-projection saves its input.
  for (const Linear& linear : layer.latent_linears)
    if (linear.part == Part::latent_out)
      add(Part::latent_out, Work::memory,
          input_element(setting, Part::latent_out) * linear.tokens *
              static_cast<double>(linear.inputs),
          Saver{});
  // The activation function also multiplies by the probabilities of the experts. Only a gated one
  // is fused with this product; otherwise the product saves its other factor.
  if (layer.experts.gates == 0)
    add(Part::expert_activation, Work::memory, value * layer.experts.outputs, Module::moe_act);
}

// Adds what the norm after attention or an MLP saves (its input), and its dropout (the mask).
template <class Add>
void add_result(const ModelSetting& setting, const Add& add) {
  if (setting.model.post_norms)
    add(Part::post_norm, Kernel::Work::product, hidden_states(setting, 1), Saver{});
  add(Part::residual, Kernel::Work::memory, mask_bytes(setting, 1), Saver{});
}

// Adds what hyper-connections save around a mixer or an MLP: its input and result, and the fp32
// weights of the residual streams before and after their normalization.
template <class Add>
void add_saved_streams(const ModelSetting& setting, const Layer& layer, const Add& add) {
  if (layer.stream_linears.empty()) return;
  const Linear& weights = layer.stream_linears.front();
  add(Part::streams, Work::memory, hidden_states(setting, 1), Saver{});
  add(Part::streams, Work::product,
      hidden_states(setting, 1) + 2 * 4 * weights.tokens * static_cast<double>(weights.outputs),
      Saver{});
}

// Adds the results of the last products of attention and of an MLP, which no backward pass needs.
// Recomputation by operator keeps them as those of all its products (torchtitan's policy for
// create_selective_checkpoint_contexts, distributed/activation_checkpoint.py).
template <class Add>
void add_kept_results(const ModelSetting& setting, const Layer& layer, const Add& add) {
  if (setting.training.recompute.granularity != config::Recompute::Granularity::op) return;
  const double result = value_bytes(setting) * setting.sizes.tokens * setting.model.hidden;
  if (layer.has_attention()) add(Part::projection, Work::product, result, Saver{});
  if (layer.mlp.outputs > 0) add(Part::mlp_out, Work::product, result, Saver{});
}

// Returns the bytes per element of the result of the norm before an MLP. It is saved in the type of
// the product that reads it. Routers and shared experts read no scaled type.
double mlp_norm_element(const ModelSetting& setting, const Layer& layer) {
  if (layer.router.empty()) return input_element(setting, Part::mlp_in);
  const bool is_read = !is_frozen(setting.training, Part::router) ||
                       (layer.shared.outputs > 0 && !is_frozen(setting.training, Part::shared_in));
  return is_read ? value_bytes(setting) : 0;
}

template <class Add>
void add_saved(const ModelSetting& setting, LayerKind kind, const Layer& layer, const Add& add) {
  const bool has_mixer = layer.mixer != Mixer::none;
  add_kept_results(setting, layer, add);
  add_saved_adapters(setting, layer, add);
  if (has_mixer) {
    add_saved_streams(setting, layer, add);
    add(attention_norm_part(layer.mixer), Work::memory, attention_norm_bytes(setting, layer.mixer),
        layer.has_attention() ? Saver{Module::qkv_linear} : Saver{});
    if (layer.has_attention()) add_saved_attention(setting, layer, add);
    if (layer.has_recurrence()) add_saved_recurrence(setting, layer, add);
    add_result(setting, add);
  }
  if (feed_forward_of(kind) == FeedForward::none) return;
  add_saved_streams(setting, layer, add);
  if (has_mixer)
    add(layer.stream_linears.empty() ? Part::residual : Part::streams, Work::memory,
        residual_states(setting), layer.router.empty() ? Saver{} : Saver{Module::mlp_norm});
  add(mlp_norm_part(kind), Work::memory, hidden_bytes(setting, mlp_norm_element(setting, layer)),
      Saver{});
  add_saved_feed_forward(setting, layer, add);
  add_result(setting, add);
}

// Returns the bytes of what the weight gradients of these products need: their inputs and the
// gradients of their results, and those of adapters.
double weight_grad_bytes(const ModelSetting& setting, const std::vector<Linear>& linears) {
  const double cut = setting.sizes.sequence_parallel ? 1.0 / setting.sizes.tp : 1;
  double bytes = 0;
  for (const Linear& linear : linears) {
    const double element = config::saved_bytes(type_of(setting, linear.part));
    const double tokens = linear.tokens * linear.count;
    const double shard = is_expert_part(linear.part) ? 1 : cut;
    if (!is_frozen(setting.training, linear.part))
      bytes += element * tokens *
               (static_cast<double>(linear.inputs) * (linear.gathers_input ? shard : 1) +
                static_cast<double>(linear.outputs) * (linear.scatters_output ? shard : 1));
    else if (!adapters_of(setting, linear).empty())
      bytes += value_bytes(setting) * tokens * static_cast<double>(linear.inputs + linear.outputs);
  }
  return bytes;
}

// Returns the bytes of the largest set of gradients in routed experts that exist at the same time:
// of the tokens as they are sent and as they arrive, or of the activation function's input and
// output and of the tokens.
double expert_gradient_bytes(const ModelSetting& setting, const Layer& layer) {
  const double value = value_bytes(setting);
  const double token_bytes = value * setting.model.expert_width();
  const double arrived = token_bytes * layer.routing.received;
  return arrived +
         std::max(token_bytes * layer.routing.sent, value * layer.experts.inputs_and_outputs());
}

// Returns the most bytes of gradients that exist at the same time in a layer: in attention those of
// the scores in three states and of Q, K, V and the result, in an MLP those of the activation
// function's input and output.
double live_gradient_bytes(const ModelSetting& setting, const Layer& layer) {
  const double value = value_bytes(setting);
  const double scores =
      stores_no_scores(setting, layer.attention) ? 0 : 3 * value * layer.attention.scores();
  const double attention =
      scores + attention_tensors(setting, layer.attention) + value * layer.attention.result_size();
  const Recurrence& r = layer.recurrence;
  return std::max({attention, value * r.elements(r.projected + r.derived + 2 * r.values),
                   value * layer.mlp.inputs_and_outputs(),
                   value * layer.shared.inputs_and_outputs(),
                   expert_gradient_bytes(setting, layer)}) +
         hidden_states(setting, 1) + residual_states(setting);
}

// Returns the number of logits of a microbatch on one GPU. The vocabulary is padded so that tp
// divides it.
double logits_on_gpu(const ModelSetting& setting) {
  const auto vocabulary = setting.sizes.vocabulary / setting.sizes.tp;
  return setting.sizes.tokens * static_cast<double>(vocabulary);
}

}  // namespace

ActivationBytes layer_bytes(const ModelSetting& setting, LayerKind kind) {
  const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
  const config::Recompute& recompute = setting.training.recompute;
  ActivationBytes bytes{.held = residual_states(setting),
                        .for_w = weight_grad_bytes(setting, linears_of(layer)),
                        .working = live_gradient_bytes(setting, layer)};
  const auto& offload = setting.training.offload;
  const auto move = [&](Saver saver, double saved) {
    if (offload && saver && offload->has(*saver)) bytes.movable += saved;
  };
  // The input of a layer is that of the norm before attention, which is a module of its own or part
  // of the product after it.
  if (layer.has_attention())
    move(attention_norm_part(layer.mixer) == Part::attention_norm ? Module::attn_norm
                                                                  : Module::qkv_linear,
         bytes.held);
  add_saved(setting, kind, layer, [&](Part part, Kernel::Work work, double saved, Saver saver) {
    const double freed = saved * share_recomputed(recompute, part, work);
    bytes.held += saved - freed;
    bytes.working += freed;
    move(saver, saved - freed);
  });
  return bytes;
}

ActivationBytes layer_bytes(const ModelSetting& model_setting, LayerRange stage,
                            std::uint32_t layer) {
  const config::Recompute& recompute = model_setting.training.recompute;
  // The first stage keeps nothing for layers without a backward pass.
  if (stage.first == 0 && layer < layers_below_training(model_setting)) return {};
  const ModelSetting setting = setting_of_layer(model_setting, layer);
  const LayerKind kind = kind_of_layer(setting.model, layer);
  const bool recomputes = is_recomputed(recompute, stage, layer);
  if (recomputes && recompute.uniform == 1) return layer_bytes(setting, kind);
  config::Training no_recompute = setting.training;
  no_recompute.recompute = {};
  const ModelSetting without_recompute{setting.model, no_recompute, setting.sizes,
                                       setting.is_in_16_bits};
  if (!recomputes) return layer_bytes(without_recompute, kind);
  ActivationBytes bytes = layer_bytes(setting, kind);
  // Layers that are recomputed as a group save only the input of the first one. The last group of a
  // stage has the layers that are left.
  const std::uint32_t in_group = (layer - stage.first) % recompute.uniform;
  if (in_group != 0) bytes.held -= residual_states(setting);
  const std::uint32_t group_start = layer - stage.first - in_group;
  const std::uint32_t group = std::min(recompute.uniform, stage.count - group_start);
  bytes.working += (group - 1) * layer_bytes(without_recompute, kind).held;
  return bytes;
}

bool frees_nothing(const ModelSetting& setting) {
  config::Training no_recompute = setting.training;
  no_recompute.recompute = {};
  const ModelSetting without_recompute{setting.model, no_recompute, setting.sizes};
  const auto frees_little = [&](LayerKind kind) {
    constexpr double threshold = 0.99;  // less than this is saved by row sums of attention alone
    return layer_bytes(setting, kind).held > threshold * layer_bytes(without_recompute, kind).held;
  };
  return std::ranges::all_of(kinds_of(setting.model), frees_little);
}

std::string idle_recompute_note(const ModelSetting& setting) {
  const config::Recompute& recompute = setting.training.recompute;
  if (recompute == config::Recompute{} || !frees_nothing(setting)) return {};
  std::vector<std::string_view> freeing;
  for (std::size_t i = 0; i < config::recompute_modules.size(); ++i) {
    config::Training single_module = setting.training;
    single_module.recompute = {.granularity = config::Recompute::Granularity::selective,
                               .modules = 0};
    single_module.recompute.modules.set(i);
    if (has_module(setting.model, static_cast<config::RecomputeModule>(i)) &&
        !frees_nothing({setting.model, single_module, setting.sizes}))
      freeing.push_back(config::recompute_modules[i]);
  }
  const bool recomputes_scores = recompute.has(config::RecomputeModule::core_attn);
  const bool keeps_products = recompute.granularity == config::Recompute::Granularity::op;
  const std::string_view reason =
      keeps_products      ? ", and costs time: it keeps the results of products, which "
                            "take as much as what it recomputes"
      : recomputes_scores ? ", and costs time: flash attention stores no scores"
                          : ": its norms are part of the products that use them";
  return fmt::format(
      "recompute {} frees no memory in this model{}; modules that free memory: "
      "recompute: {{modules: [..]}} with {}",
      to_string(recompute), reason, fmt::join(freeing, ", "));
}

ActivationBytes mtp_bytes(const ModelSetting& model_setting) {
  const ModelSetting setting = setting_of_mtp(model_setting);
  ActivationBytes bytes = layer_bytes(setting, kind_of_mtp(setting.model));
  // The module's two norms save their inputs, and the projection saves both results side by side.
  // If the whole layer is recomputed, its input is not saved either.
  const double share =
      share_recomputed(setting.training.recompute, Part::mtp_projection, Kernel::Work::product);
  const double inputs = hidden_bytes(setting, 2 * input_element(setting, Part::mtp_projection));
  const double freed = share * inputs + (share == 1 ? hidden_states(setting, 1) : 0);
  bytes.held += hidden_states(setting, 2) + inputs - freed;
  bytes.held += embedding_bytes(setting).held;
  bytes.for_w += weight_grad_bytes(setting, {mtp_projection(setting.model, setting.sizes)});
  bytes.working += freed;
  return bytes;
}

ActivationBytes embedding_bytes(const ModelSetting& setting) {
  return {.held = mask_bytes(setting, 1)};
}

namespace {

// Returns the bytes of a logit that is stored for the backward pass: the type of values if the loss
// is fused, else fp32.
double stored_logit(const ModelSetting& setting) {
  return setting.training.fused_loss ? value_bytes(setting) : 4;
}

// Returns the bytes of a logit's gradients and copies that the backward pass of the loss adds.
double working_logit(const ModelSetting& setting) {
  const config::SoftwareMemory& memory = setting.training.stack.memory;
  return setting.training.fused_loss ? memory.fused_loss_working : memory.loss_working;
}

}  // namespace

ActivationBytes head_bytes(const ModelSetting& setting) {
  // Residual streams are saved to weigh them in the last hidden state.
  const double streams = setting.model.residual_streams > 1 ? residual_states(setting) : 0;
  // A loss in chunks keeps the gradient of the norm's result instead of the result. The logits of a
  // chunk and their gradient exist beside all activations of the microbatch, as the tensors of a
  // backward pass do.
  // A frozen output matrix needs no result of the norm.
  const double result =
      has_frozen_head(setting)
          ? 0
          : hidden_bytes(setting, config::saved_bytes(type_of(setting, Part::head)));
  if (const std::uint32_t chunks = setting.training.loss_chunks; chunks > 1)
    return {.held = streams + hidden_states(setting, 2),
            .working =
                (stored_logit(setting) + working_logit(setting)) * logits_on_gpu(setting) / chunks};
  return {.held = streams + hidden_states(setting, 1) + result,
          .for_w = result,
          .working = working_logit(setting) * logits_on_gpu(setting)};
}

double logits_bytes(const ModelSetting& setting) {
  if (setting.training.loss_chunks > 1) return 0;
  return stored_logit(setting) * logits_on_gpu(setting);
}

double logits_grad_bytes(const ModelSetting& setting) {
  const bool needs_none = setting.training.loss_chunks > 1 || has_frozen_head(setting);
  return needs_none ? 0 : value_bytes(setting) * logits_on_gpu(setting);
}

namespace {

// Returns the attention of the model's first kind of layer that has one; an empty one without heads
// if no layer has attention.
Attention model_attention(const ModelSetting& setting) {
  for (const LayerKind kind : kinds_of(setting.model)) {
    const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
    if (layer.has_attention()) return layer.attention;
  }
  return {};
}

}  // namespace

double score_buffer_bytes(const ModelSetting& setting) {
  const Attention attention = model_attention(setting);
  return stores_no_scores(setting, attention) ? 0 : value_bytes(setting) * attention.scores();
}

double context_buffer_bytes(const ModelSetting& setting) {
  using config::ContextComm;
  if (setting.sizes.cp == 1) return 0;
  const Attention attention = model_attention(setting);
  const double value = value_bytes(setting);
  if (attention.sparse) return 2 * setting.sizes.cp * value * attention.gathered_size();
  const double keys = value * (attention.key_size() + attention.value_size());
  const double ring = 2 * 2 * keys;
  const double exchanged = value * (attention.query_size() + attention.result_size()) + keys;
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
