#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/data_type.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

// Fine-tuning of a part of a model: frozen weights, and adapters beside them.
namespace pipewright::config {

// Groups of a model's weights that training can leave as they are. A frozen group has no gradients,
// no optimizer state and no products for gradients of its weights.
enum class WeightGroup : std::uint8_t {
  embedding,
  attention,  // products of attention, its indexer and compressor, or of a recurrence in its place
  mlp,        // dense MLPs and shared experts
  experts,    // routed experts
  router,
  norms,  // and the weights of hyper-connections
  head,   // output matrix, unless it is tied to the embedding
};
inline constexpr std::array<std::string_view, 7> weight_groups{
    "embedding", "attention", "mlp", "experts", "router", "norms", "head"};
using WeightGroups = std::bitset<weight_groups.size()>;

// Products to which LoRA adds an adapter, by the names of Megatron-Bridge (docs/training/peft.md)
// and, where a model of Hugging Face has several products in their place, by those of PEFT.
// Products of the same name in a dense MLP, in shared experts and in routed experts have adapters
// alike.
enum class LoraModule : std::uint8_t {
  linear_qkv,   // one adapter for queries, keys and values
  linear_proj,  // output projection of attention
  linear_fc1,   // one adapter for gate and up-projection
  linear_fc2,   // down-projection of an MLP
  q_proj,
  k_proj,
  v_proj,
  gate_proj,
  up_proj,
  linear_q_down_proj,  // products of latent attention
  linear_q_up_proj,
  linear_kv_down_proj,
  linear_kv_up_proj,
  in_proj,  // projections of a recurrence
  out_proj,
};
inline constexpr std::array<std::string_view, 15> lora_modules{"linear_qkv",
                                                               "linear_proj",
                                                               "linear_fc1",
                                                               "linear_fc2",
                                                               "q_proj",
                                                               "k_proj",
                                                               "v_proj",
                                                               "gate_proj",
                                                               "up_proj",
                                                               "linear_q_down_proj",
                                                               "linear_q_up_proj",
                                                               "linear_kv_down_proj",
                                                               "linear_kv_up_proj",
                                                               "in_proj",
                                                               "out_proj"};

// Adapters of low rank (LoRA, arXiv 2106.09685): the result of a product with a frozen matrix W
// gets the product with two small trained matrices A and B added, whose width between them is the
// rank.
struct Lora {
  // Adapters of routed experts: none, one for all experts of a rank, or one for each expert.
  enum class Experts : std::uint8_t { none, shared, each };
  // Storage of the frozen matrices of layers: as the precision recipe stores weights, or in 8 bits
  // with one scale per tensor, or in 4 bits (NF4 of QLoRA, arXiv 2305.14314). Unless products have
  // the same type, matrices are dequantized before each of their products.
  enum class Base : std::uint8_t { recipe, fp8, nf4 };

  std::uint32_t rank = 32;
  std::bitset<lora_modules.size()> modules = 0b1111;  // the four of every transformer layer
  Experts experts = Experts::each;
  Base base = Base::recipe;
  double dropout = 0;  // probability of the dropout before A

  bool has(LoraModule module) const { return modules.test(static_cast<std::size_t>(module)); }
};
inline constexpr std::array<std::string_view, 3> lora_experts_names{"none", "shared", "each"};
inline constexpr std::array<std::string_view, 3> lora_base_names{"recipe", "fp8", "nf4"};

// Returns the bytes of a frozen weight, with its share of the scales: NF4 has a scale in 8 bits for
// each 64 weights, and one in 32 bits for each 256 of these scales (double quantization).
constexpr double base_bytes(Lora::Base base, DataType recipe) {
  if (base == Lora::Base::nf4) return 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
  // Products in a scaled type read copies by rows and by columns.
  return is_scaled(recipe) ? 2 * element_bytes(recipe) : 1;
}

Lora read_lora(const Field& field);
std::vector<KeyRow> lora_keys();
WeightGroups read_frozen(const Field& field);

// Describe adapters and groups: "adapters of rank 16 in linear_qkv", "embedding and head".
std::string to_string(const Lora& lora);
std::string groups_text(const WeightGroups& groups);

}  // namespace pipewright::config
