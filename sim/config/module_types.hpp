#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/data_type.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

// Data types of products by module, where they differ from the recipe's.
namespace pipewright::config {

// Modules whose products can have a data type of their own. Frameworks choose types by these names:
// Transformer Engine by fp8_dpa and, with Megatron-LM's --te-precision-config-file, by patterns of
// the names linear_qkv, linear_proj, linear_fc1 and so on; torchao by filter_fqns.
enum class PrecisionModule : std::uint8_t {
  attention,       // products of queries with keys, and of scores with values
  qkv,             // products before attention, also those of low rank and of indexers
  proj,            // output projection of attention
  in_proj,         // products before a recurrence
  out_proj,        // product after a recurrence
  mlp,             // dense MLPs
  router,          // scores of experts
  experts,         // routed experts
  latent,          // products to and from the width of latent experts
  shared_experts,  // experts of every token
  mtp,             // multi-token prediction: its projection and its layer, except for attention
  head,            // output matrix
};
inline constexpr std::array<std::string_view, 12> precision_modules{
    "attention", "qkv",     "proj",   "in_proj",        "out_proj", "mlp",
    "router",    "experts", "latent", "shared_experts", "mtp",      "head"};

struct ModuleTypes {
  std::array<std::optional<DataType>, precision_modules.size()> types;
  // Layers at the start and at the end of the model whose products have 16 bits, attention included
  // (Megatron-LM's --first-last-layers-bf16).
  std::uint32_t layers_at_start = 0;
  std::uint32_t layers_at_end = 0;

  const std::optional<DataType>& of(PrecisionModule module) const {
    return types[static_cast<std::size_t>(module)];
  }
  bool operator==(const ModuleTypes&) const = default;
};

// A recipe with the types of its modules, as the key training.precision gives it.
struct Precision {
  DataType recipe = DataType::bf16;
  ModuleTypes modules;
};

// Returns the data type of a module's products. Without a type of its own, a module has that of the
// recipe, but attention, router and head have no scaled type.
DataType type_of(DataType recipe, const ModuleTypes& modules, PrecisionModule module);

// Reads the name of a recipe, or a map of modules. Throws an Error for types that no program mixes:
// recipes of 32 bits keep all tensors in 32 bits.
Precision read_precision(const Field& field);
std::vector<KeyRow> precision_keys();

// Describes the types: "mxfp8", "mxfp8, attention fp8, experts nvfp4, last 4 layers bf16".
std::string to_string(const Precision& precision);

}  // namespace pipewright::config
