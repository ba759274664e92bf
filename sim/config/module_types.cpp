#include "sim/config/module_types.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"

namespace pipewright::config {
namespace {

// Types of the products of attention: cuDNN's kernels of FP8 take one scale per tensor or per 32
// elements (transformer_engine/pytorch/attention/dot_product_attention).
constexpr std::array<std::string_view, 3> attention_types{"bf16", "fp8", "mxfp8"};
// Types of a router's products, which choose experts by small differences between scores.
constexpr std::array<std::string_view, 3> router_types{"bf16", "tf32", "fp32"};

DataType type_named(std::string_view name) {
  const auto* const type = std::ranges::find(data_types, name);
  return static_cast<DataType>(type - data_types.begin());
}

template <PrecisionModule module, const auto& names>
constexpr Reader<Precision> type_of_module{
    [](const Field& field, Precision& precision) {
      precision.modules.types[static_cast<std::size_t>(module)] =
          type_named(names[read_choice(field, names)]);
    },
    ValueInfo{ValueType::choice, false, names, nullptr}};

template <PrecisionModule module>
constexpr Reader<Precision> product_type = type_of_module<module, data_types>;

template <auto member>
constexpr Reader<Precision> layer_count{[](const Field& field, Precision& precision) {
                                          precision.modules.*member =
                                              field.value.text == "0" ? 0 : read_count(field, "1");
                                        },
                                        ValueInfo{ValueType::count}};

using Module = PrecisionModule;
constexpr std::array precision_table{
    Key<Precision>{{.name = "default",
                    .help = "data type of the products of all modules without a key of their own",
                    .default_value = "bf16"},
                   choice<&Precision::recipe, data_types>},
    Key<Precision>{
        {.name = "attention",
         .help = "data type of the products of queries with keys, and of scores with values",
         .default_value = "bf16"},
        type_of_module<Module::attention, attention_types>},
    Key<Precision>{
        {.name = "qkv",
         .help = "data type of the products before attention, including those of latent attention",
         .default_value = "default"},
        product_type<Module::qkv>},
    Key<Precision>{{.name = "proj",
                    .help = "data type of the output projection of attention",
                    .default_value = "default"},
                   product_type<Module::proj>},
    Key<Precision>{{.name = "in_proj",
                    .help = "data type of the products before a recurrence",
                    .default_value = "default"},
                   product_type<Module::in_proj>},
    Key<Precision>{{.name = "out_proj",
                    .help = "data type of the product after a recurrence",
                    .default_value = "default"},
                   product_type<Module::out_proj>},
    Key<Precision>{{.name = "mlp", .help = "data type of dense MLPs", .default_value = "default"},
                   product_type<Module::mlp>},
    Key<Precision>{{.name = "router",
                    .help = "data type of the router, which scores experts",
                    .default_value = "bf16"},
                   type_of_module<Module::router, router_types>},
    Key<Precision>{
        {.name = "experts", .help = "data type of routed experts", .default_value = "default"},
        product_type<Module::experts>},
    Key<Precision>{{.name = "latent",
                    .help = "data type of the products to and from the width of latent experts",
                    .default_value = "default"},
                   product_type<Module::latent>},
    Key<Precision>{{.name = "shared_experts",
                    .help = "data type of the shared experts, which every token uses",
                    .default_value = "default"},
                   product_type<Module::shared_experts>},
    Key<Precision>{{.name = "mtp",
                    .help = "data type of the projection and the layer of multi-token prediction, "
                            "except for attention",
                    .default_value = "default"},
                   product_type<Module::mtp>},
    Key<Precision>{
        {.name = "head", .help = "data type of the output matrix", .default_value = "bf16"},
        product_type<Module::head>},
    Key<Precision>{{.name = "num_layers_at_start_in_bf16",
                    .help = "layers at the start of the model whose products stay in bf16",
                    .unit = "layers",
                    .default_value = "0"},
                   layer_count<&ModuleTypes::layers_at_start>},
    Key<Precision>{{.name = "num_layers_at_end_in_bf16",
                    .help = "layers at the end of the model whose products stay in bf16",
                    .unit = "layers",
                    .default_value = "0"},
                   layer_count<&ModuleTypes::layers_at_end>},
};

// Throws an Error if a module's type cannot stand beside the recipe: the other tensors of a model
// have 16 or 32 bits everywhere, and 16 bits of one type.
void check_mix(const Field& map, const Precision& precision) {
  for (std::size_t i = 0; i < precision_modules.size(); ++i) {
    const auto module = static_cast<PrecisionModule>(i);
    const auto& type = precision.modules.of(module);
    if (!type || *type == precision.recipe) continue;
    const bool takes_tensors_as_they_are =
        module == PrecisionModule::attention || module == PrecisionModule::router;
    const std::string_view recipe = name_of(precision.recipe);
    const Field field{*find(map.value, precision_modules[i]),
                      fmt::format("{}.{}", map.name, precision_modules[i])};
    if (has_32_bits(precision.recipe))
      throw wrong(field, fmt::format("{} alone, since the recipe {} keeps all tensors in 32 bits",
                                     recipe, recipe));
    if (is_scaled(*type) || takes_tensors_as_they_are) continue;
    if (is_scaled(precision.recipe) && *type == DataType::bf16) continue;
    throw wrong(field, fmt::format("a type of 8 or 4 bits, or {}, which other tensors have",
                                   is_scaled(precision.recipe) ? "bf16" : recipe));
  }
}

std::string layers_text(std::string_view place, std::uint32_t count) {
  if (count == 0) return "";
  return count == 1 ? fmt::format(", {} layer bf16", place)
                    : fmt::format(", {} {} layers bf16", place, count);
}

}  // namespace

DataType type_of(DataType recipe, const ModuleTypes& modules, PrecisionModule module) {
  if (const auto& type = modules.of(module)) return *type;
  const bool is_plain = module == PrecisionModule::attention || module == PrecisionModule::router ||
                        module == PrecisionModule::head;
  return is_plain && is_scaled(recipe) ? DataType::bf16 : recipe;
}

Precision read_precision(const Field& field) {
  if (field.value.kind != Value::Kind::map)
    return {.recipe = static_cast<DataType>(read_choice(field, data_types)), .modules = {}};
  const Precision precision = read_map<precision_table>(field);
  check_mix(field, precision);
  return precision;
}

std::vector<KeyRow> precision_keys() { return rows_of(precision_table); }

std::string to_string(const Precision& precision) {
  std::string text(name_of(precision.recipe));
  for (std::size_t i = 0; i < precision_modules.size(); ++i) {
    const auto module = static_cast<PrecisionModule>(i);
    if (const auto& type = precision.modules.of(module);
        type && *type != type_of(precision.recipe, {}, module))
      text += fmt::format(", {} {}", precision_modules[i], name_of(*type));
  }
  return text + layers_text("first", precision.modules.layers_at_start) +
         layers_text("last", precision.modules.layers_at_end);
}

}  // namespace pipewright::config
