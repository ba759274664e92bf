#include "sim/workload/shape/fine_tuning.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {
namespace {

using config::Lora;
using config::LoraModule;
using config::WeightGroup;

// A module of LoRA in a product, and how many of the product's outputs it adapts.
struct AdaptedOutputs {
  LoraModule module;
  std::uint64_t outputs;
};

std::vector<AdaptedOutputs> modules_of(const config::Model& model, const Linear& linear) {
  const std::uint64_t all = linear.outputs;
  const bool of_keys = linear.keys > 0;
  switch (linear.part) {
    case Part::qkv:
      // Latent attention has this part for the product of its output gate, which has no adapter.
      if (model.latent) return {};
      return {{LoraModule::linear_qkv, all},
              {LoraModule::q_proj, all - linear.keys - linear.values},
              {LoraModule::k_proj, linear.keys},
              {LoraModule::v_proj, linear.values}};
    case Part::projection:
      // The product of groups of heads before it has no adapter.
      if (!linear.scatters_output) return {};
      return {{LoraModule::linear_proj, all}};
    case Part::mla_down:
      return {{of_keys ? LoraModule::linear_kv_down_proj : LoraModule::linear_q_down_proj, all}};
    case Part::mla_up:
      return {{of_keys ? LoraModule::linear_kv_up_proj : LoraModule::linear_q_up_proj, all}};
    case Part::recurrence_in:
      return {{LoraModule::in_proj, all}};
    case Part::recurrence_out:
      return {{LoraModule::out_proj, all}};
    case Part::mlp_in:
    case Part::shared_in:
    case Part::expert_in:
      return {{LoraModule::linear_fc1, all},
              {LoraModule::gate_proj, model.gated ? all / 2 : 0},
              {LoraModule::up_proj, model.gated ? all / 2 : all}};
    case Part::mlp_out:
    case Part::shared_out:
    case Part::expert_out:
      return {{LoraModule::linear_fc2, all}};
    default:
      return {};
  }
}

Adapter adapter_of(const ModelSetting& setting, const Linear& linear, std::uint64_t outputs) {
  const Lora& lora = *setting.training.lora;
  const std::uint64_t rank = lora.rank;
  const bool of_expert = is_expert_part(linear.part);
  const bool is_cut = linear.gathers_input || linear.scatters_output;
  Adapter adapter{.a = {.part = linear.part, .tokens = linear.tokens, .count = linear.count},
                  .b = {},
                  .ranks = !is_cut     ? 1
                           : of_expert ? setting.sizes.etp
                                       : setting.sizes.tp,
                  .cut_by_inputs = linear.scatters_output};
  if (of_expert && lora.experts == Lora::Experts::shared) {
    adapter.a.tokens *= linear.count;
    adapter.a.count = 1;
  }
  adapter.b = adapter.a;
  adapter.a.inputs = linear.inputs;
  adapter.a.outputs = adapter.cut_by_inputs ? rank : rank / adapter.ranks;
  adapter.b.inputs = rank;
  adapter.b.outputs = adapter.cut_by_inputs ? outputs / adapter.ranks : outputs;
  return adapter;
}

std::uint64_t parameters_of(const Linear& linear) {
  return linear.inputs * linear.outputs * linear.count;
}

// Adds the parameters of a layer's adapters.
void add_adapters(const ModelSetting& setting, const Layer& layer, Parameters& sum) {
  for (const Linear& linear : linears_of(layer))
    for (const Adapter& adapter : adapters_of(setting, linear)) {
      const bool of_expert = is_adapter_of_expert(setting.training, linear.part);
      (of_expert ? sum.experts : sum.dense) += parameters_of(adapter.a) + parameters_of(adapter.b);
      add_matrix(adapter.a, of_expert, sum);
      add_matrix(adapter.b, of_expert, sum);
    }
}

}  // namespace

WeightGroup group_of(Part part) {
  switch (part) {
    case Part::embedding:
    case Part::patch_embedding:
      return WeightGroup::embedding;
    case Part::mlp_in:
    case Part::mlp_out:
    case Part::shared_in:
    case Part::shared_out:
    case Part::mtp_projection:
      return WeightGroup::mlp;
    case Part::latent_in:
    case Part::latent_out:
    case Part::expert_in:
    case Part::expert_out:
      return WeightGroup::experts;
    case Part::router:
      return WeightGroup::router;
    case Part::streams:
      return WeightGroup::norms;
    case Part::head:
    case Part::projector_in:
    case Part::projector_out:
      return WeightGroup::head;
    default:
      return WeightGroup::attention;
  }
}

bool is_frozen(const config::Training& training, Part part) {
  return training.freezes(group_of(part));
}

bool has_frozen_head(const ModelSetting& setting) {
  return setting.training.freezes(setting.model.tied_embeddings ? WeightGroup::embedding
                                                                : WeightGroup::head);
}

bool is_adapter_of_expert(const config::Training& training, Part part) {
  return is_expert_part(part) && training.lora->experts != Lora::Experts::shared;
}

std::vector<Adapter> adapters_of(const ModelSetting& setting, const Linear& linear) {
  std::vector<Adapter> adapters;
  const auto& lora = setting.training.lora;
  if (!lora || (is_expert_part(linear.part) && lora->experts == Lora::Experts::none))
    return adapters;
  for (const AdaptedOutputs& adapted : modules_of(setting.model, linear))
    if (lora->has(adapted.module) && adapted.outputs > 0)
      adapters.push_back(adapter_of(setting, linear, adapted.outputs));
  return adapters;
}

Parameters layer_parameters(const ModelSetting& setting, LayerKind kind) {
  Parameters sum;
  add_layer_parameters(setting.model, kind, setting.sizes,
                       [&](WeightGroup group, Parameters parameters) {
                         if (setting.training.freezes(group)) parameters.freeze();
                         sum += parameters;
                       });
  const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
  for (const Linear& linear : linears_of(layer)) {
    if (!is_frozen(setting.training, linear.part))
      add_matrix(linear, is_expert_part(linear.part), sum);
    add_other_type(setting, linear.part, static_cast<double>(parameters_of(linear)), sum);
  }
  if (setting.training.lora) add_adapters(setting, layer, sum);
  return sum;
}

Parameters mtp_parameters(const ModelSetting& model_setting) {
  const ModelSetting setting = setting_of_mtp(model_setting);
  const LayerKind kind = kind_of_mtp(setting.model);
  Parameters beside_layer = mtp_parameters(setting.model, setting.sizes);
  const Parameters plain = layer_parameters(setting.model, kind, setting.sizes);
  beside_layer -= plain;
  if (is_frozen(setting.training, Part::mtp_projection)) beside_layer.freeze();
  Parameters sum = layer_parameters(setting, kind);
  sum += beside_layer;
  const Linear projection = mtp_projection(setting.model, setting.sizes);
  add_other_type(setting, projection.part, static_cast<double>(parameters_of(projection)), sum);
  return sum;
}

std::uint64_t trained_tensors(const ModelSetting& setting, LayerKind kind) {
  const config::Training& training = setting.training;
  const bool trains_norms = !training.freezes(WeightGroup::norms);
  std::uint64_t tensors = trains_norms ? 2 : 0;
  for (const Linear& linear : linears_of(layer_on_gpu(setting.model, kind, setting.sizes))) {
    if (!is_frozen(training, linear.part)) ++tensors;
    tensors += 2 * adapters_of(setting, linear).size();
  }
  return tensors;
}

bool lacks_lowest_gradients(const config::Training& training) {
  // Frameworks require the gradient of the first layer's input where a checkpoint needs one to run
  // (enable_input_require_grads of transformers, maybe_enable_recompute_inputs_grad of
  // Megatron-Bridge).
  return training.freezes(WeightGroup::embedding) && !training.trains_vision() &&
         training.recompute.granularity != config::Recompute::Granularity::full;
}

std::uint32_t layers_below_training(const ModelSetting& setting) {
  if (!lacks_lowest_gradients(setting.training)) return 0;
  std::optional<LayerKind> below;  // kind of the layer before, which trains nothing
  for (std::uint32_t layer = 0; layer < setting.model.layers; ++layer) {
    const LayerKind kind = kind_of_layer(setting.model, layer);
    if (kind == below) continue;
    if (layer_parameters(setting, kind).trained().total() > 0) return layer;
    below = kind;
  }
  return setting.model.layers;
}

bool trains_mtp(const ModelSetting& setting) {
  return setting.model.mtp_layers > 0 && mtp_parameters(setting).trained().total() > 0;
}

double dequantized_bytes(const ModelSetting& setting, LayerKind kind) {
  const config::Training& training = setting.training;
  if (!config::dequantizes(training)) return 0;
  double largest = 0;
  for (const Linear& linear : linears_of(layer_on_gpu(setting.model, kind, setting.sizes)))
    if (is_frozen(training, linear.part) && linear.part != Part::router)
      largest = std::max(largest, static_cast<double>(parameters_of(linear)));
  return largest * config::value_bytes(training.precision);
}

}  // namespace pipewright::workload
