#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {

using config::DataType;
using config::PrecisionModule;

PrecisionModule module_of(Part part) {
  switch (part) {
    case Part::core_attention:
    case Part::index_scores:
      return PrecisionModule::attention;
    case Part::projection:
      return PrecisionModule::proj;
    case Part::recurrence_in:
    case Part::convolution:
    case Part::recurrence:
      return PrecisionModule::in_proj;
    case Part::recurrence_norm:
    case Part::recurrence_out:
      return PrecisionModule::out_proj;
    case Part::mlp_norm:
    case Part::mlp_in:
    case Part::activation:
    case Part::mlp_out:
      return PrecisionModule::mlp;
    case Part::latent_in:
    case Part::latent_out:
      return PrecisionModule::latent;
    case Part::router:
      return PrecisionModule::router;
    case Part::permute:
    case Part::expert_in:
    case Part::expert_activation:
    case Part::expert_out:
    case Part::unpermute:
      return PrecisionModule::experts;
    case Part::shared_in:
    case Part::shared_activation:
    case Part::shared_out:
      return PrecisionModule::shared_experts;
    case Part::mtp_norm:
    case Part::mtp_projection:
      return PrecisionModule::mtp;
    case Part::head_norm:
    case Part::head:
    case Part::loss:
      return PrecisionModule::head;
    default:
      return PrecisionModule::qkv;
  }
}

DataType type_of(const ModelSetting& setting, Part part) {
  const DataType recipe = setting.training.precision;
  const config::ModuleTypes& types = setting.training.module_types;
  const DataType plain = config::is_scaled(recipe) ? DataType::bf16 : recipe;
  if (part == Part::streams || part == Part::patch_embedding) return plain;
  const PrecisionModule module = module_of(part);
  if (module == PrecisionModule::attention) {
    const DataType type = config::type_of(recipe, types, module);
    const bool is_scaled = config::is_scaled(type) && part == Part::core_attention;
    // Rates of attention in fp16 are those of bf16.
    if (!is_scaled || setting.is_in_16_bits)
      return config::has_32_bits(recipe) ? recipe : DataType::bf16;
    return type;
  }
  if (module == PrecisionModule::router || module == PrecisionModule::head)
    return config::type_of(recipe, types, module);
  if (setting.is_in_16_bits) return plain;
  if (setting.is_mtp && types.of(PrecisionModule::mtp)) return *types.of(PrecisionModule::mtp);
  return config::type_of(recipe, types, module);
}

bool is_in_16_bits(const ModelSetting& setting, std::uint32_t layer) {
  const config::ModuleTypes& types = setting.training.module_types;
  return layer < types.layers_at_start ||
         std::uint64_t{layer} + types.layers_at_end >= setting.model.layers;
}

ModelSetting setting_of_layer(const ModelSetting& setting, std::uint32_t layer) {
  ModelSetting layer_setting = setting;
  layer_setting.is_in_16_bits = is_in_16_bits(setting, layer);
  return layer_setting;
}

ModelSetting setting_of_mtp(const ModelSetting& setting) {
  ModelSetting layer_setting = setting;
  layer_setting.is_mtp = true;
  return layer_setting;
}

void add_other_type(const ModelSetting& setting, Part part, double weights,
                    Parameters& parameters) {
  const config::Training& training = setting.training;
  const DataType type = type_of(setting, part);
  // Weights of a head count as part of the vocabulary, which no recipe scales. The few weights of
  // routers and streams are stored as those of other products.
  const DataType counted = part == Part::head ? DataType::bf16 : training.precision;
  if (type == counted || part == Part::router || part == Part::streams) return;
  OtherTypeBytes& bytes =
      is_expert_part(part) ? parameters.expert_other_types : parameters.other_types;
  const auto difference = [&](const auto& bytes_of) {
    return weights * (bytes_of(type) - bytes_of(counted));
  };
  const auto stored = [&](DataType of) { return config::weight_bytes(training, of); };
  bytes +=
      {.stored = difference(stored),
       .gathered = difference([&](DataType of) { return gathered_bytes(training, of); }),
       .casts = difference(config::copy_bytes),
       .updated = difference([&](DataType of) { return stored(of) + config::cast_bytes(of); })};
}

}  // namespace pipewright::workload
