#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Parts of a layer that Megatron-LM recomputes individually (--recompute-modules).
enum class RecomputeModule : std::uint8_t {
  core_attn,
  layernorm,
  moe_act,  // activation function of experts
  mlp,      // dense MLPs
  moe,      // router, permutation and experts
  mla_up_proj,
  shared_experts,
  mhc,  // hyper-connections
};
inline constexpr std::array<std::string_view, 8> recompute_modules{
    "core_attn", "layernorm", "moe_act", "mlp", "moe", "mla_up_proj", "shared_experts", "mhc"};

// Selects the activations that backward passes compute again instead of storing them, in the terms
// of Megatron-LM.
struct Recompute {
  enum class Granularity : std::uint8_t {
    none,
    selective,  // recomputes `modules` of a layer
    full,       // keeps only the input of a layer
    op,         // torchtitan's selective_ac_option op: keeps every second product and attention
  };

  Granularity granularity = Granularity::none;
  std::bitset<recompute_modules.size()> modules = 1;  // used by selective; default: core_attn
  std::uint32_t every = 1;                            // period of recomputed layers (torchtitan)
  std::uint32_t block = 0;    // recomputed layers at the start of each stage; 0: all
  std::uint32_t uniform = 1;  // used by full: layers per stored input
  // Used by full: recomputing stops once all activations that the backward pass needs exist, as in
  // PyTorch's non-reentrant checkpoint, so that the last product of a layer is not repeated.
  bool early_stop = false;

  bool has(RecomputeModule module) const { return modules.test(static_cast<std::size_t>(module)); }
  bool operator==(const Recompute&) const = default;
};

inline constexpr std::array<std::string_view, 4> recompute_granularities{"none", "selective",
                                                                         "full", "op"};

// Names of the granularities that a scenario can select by name.
inline constexpr std::array<std::string_view, 3> recompute_names{"none", "selective", "full"};

// Reads the key training.recompute: one of recompute_names, or a map.
Recompute read_recompute(const Field& field);
std::vector<KeyRow> recompute_keys();

// Describes the recomputation: "none", "full of 4 layers a stage" or "mlp and layernorm".
std::string to_string(const Recompute& recompute);

}  // namespace pipewright::config
