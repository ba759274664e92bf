#pragma once

#include <array>

#include "sim/config/module_types.hpp"
#include "sim/workload/shape/shape.hpp"

// Data types of the products of a model's parts, by the modules of training.precision.
namespace pipewright::workload {

config::PrecisionModule module_of(Part part);
// Returns the data type of a part's products. Weights of residual streams, which depend on exact
// sums, and of patches of images have no scaled type.
config::DataType type_of(const ModelSetting& setting, Part part);

// Copies of queries, keys and values in a scaled type that attention makes and saves. With a scale
// for each block, the forward and the backward pass read copies along different dimensions
// (combine_and_quantize of transformer_engine/pytorch/attention/dot_product_attention/utils.py).
constexpr double attention_copies(config::DataType type) {
  return type == config::DataType::mxfp8 ? 2 : 1;
}
// Returns whether training.precision keeps the products of a layer in 16 bits.
bool is_in_16_bits(const ModelSetting& setting, std::uint32_t layer);
// Return the setting of a layer of the model, and of modules of multi-token prediction.
ModelSetting setting_of_layer(const ModelSetting& setting, std::uint32_t layer);
ModelSetting setting_of_mtp(const ModelSetting& setting);

// Adds the OtherTypeBytes of `weights` weights of a part to `parameters`, if the products of the
// part have another data type than the recipe's.
void add_other_type(const ModelSetting& setting, Part part, double weights, Parameters& parameters);

// Values of a model's layers, computed once for each kind of layer, and once more for layers of
// that kind that stay in 16 bits. The setting must outlive them.
template <class Value>
class LayerValues {
 public:
  // `value_of(setting, kind)` computes the value of a layer.
  template <class ValueOf>
  LayerValues(const ModelSetting& setting, const ValueOf& value_of) : setting_(&setting) {
    const auto values = [&](const ModelSetting& layer_setting) {
      return by_kind(setting.model, [&](LayerKind kind) { return value_of(layer_setting, kind); });
    };
    of_recipe_ = values(setting);
    const config::ModuleTypes& types = setting.training.module_types;
    if (types.layers_at_start + types.layers_at_end == 0) return;
    ModelSetting plain = setting;
    plain.is_in_16_bits = true;
    in_16_bits_ = values(plain);
  }

  const Value& of(std::uint32_t layer) const {
    const auto& values = is_in_16_bits(*setting_, layer) ? in_16_bits_ : of_recipe_;
    return values[static_cast<std::size_t>(kind_of_layer(setting_->model, layer))];
  }

 private:
  const ModelSetting* setting_;
  std::array<Value, layer_kinds> of_recipe_;
  std::array<Value, layer_kinds> in_16_bits_;
};

}  // namespace pipewright::workload
