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

// The parts of a layer that Megatron-LM can make again one by one (--recompute-modules).
enum class RecomputeModule : std::uint8_t {
  core_attn,
  layernorm,
  moe_act,  // experts' activation function
  mlp,      // dense ones
  moe,      // router, permutation and experts
  mla_up_proj,
  shared_experts,
};
inline constexpr std::array<std::string_view, 7> recompute_modules{
    "core_attn", "layernorm", "moe_act", "mlp", "moe", "mla_up_proj", "shared_experts"};

// What backward passes compute again, in Megatron-LM's words.
struct Recompute {
  enum class Granularity : std::uint8_t {
    none,
    selective,  // of a layer, `modules`
    full,       // of a layer, all but its input is dropped
    op,         // torchtitan's selective_ac_option op: all but every second product and attention
  };

  Granularity granularity = Granularity::none;
  std::bitset<recompute_modules.size()> modules = 1;  // of selective: core_attn alone
  std::uint32_t every = 1;    // one layer in so many, the others keep all (torchtitan)
  std::uint32_t block = 0;    // so many layers at the start of each stage; 0: all
  std::uint32_t uniform = 1;  // of full: so many layers together keep their first one's input

  bool has(RecomputeModule module) const { return modules.test(static_cast<std::size_t>(module)); }
  bool operator==(const Recompute&) const = default;
};

inline constexpr std::array<std::string_view, 4> recompute_granularities{"none", "selective",
                                                                         "full", "op"};

// Those that need no more words.
inline constexpr std::array<std::string_view, 3> recompute_names{"none", "selective", "full"};

// One of recompute_names, or a map of the keys.
Recompute read_recompute(const Field& field);
std::vector<KeyRow> recompute_keys();

// "none", "full of 4 layers a stage", "mlp and layernorm".
std::string to_string(const Recompute& recompute);

}  // namespace pipewright::config
