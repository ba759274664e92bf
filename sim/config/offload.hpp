#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Modules of a layer whose inputs Megatron-LM moves to host memory individually
// (--offload-modules, docs/user-guide/features/fine_grained_activation_offloading.md).
enum class OffloadModule : std::uint8_t {
  attn_norm,   // norm before attention, if it is no part of the product after it
  qkv_linear,  // products that make queries, keys and values
  core_attn,
  attn_proj,   // output projection of attention
  mlp_norm,    // norm before a mixture of experts
  expert_fc1,  // first product of experts
  moe_act,     // activation function of experts
};
inline constexpr std::array<std::string_view, 7> offload_modules{
    "attn_norm", "qkv_linear", "core_attn", "attn_proj", "mlp_norm", "expert_fc1", "moe_act"};

// Activations that are moved to host memory until their backward pass, as with Megatron-LM's
// options cpu_offloading_num_layers (all activations of a layer) and fine_grained_activation_
// offloading (inputs of modules).
struct Offload {
  std::optional<std::uint32_t> layers;          // layers at the start of each stage; default: all
  double share = 1;                             // part of the activations of these layers
  std::optional<double> bandwidth;              // bytes/s each way; default: that of the GPU
  std::bitset<offload_modules.size()> modules;  // none: whole layers

  bool has(OffloadModule module) const { return modules.test(static_cast<std::size_t>(module)); }
};

// Part of the optimizer that is on the host: its state is in host memory, gradients are copied
// down, the CPU makes the step, and weights are copied up. Megatron-LM's --optimizer-cpu-offload
// (megatron/core/optimizer/cpu_offloading/hybrid_optimizer.py), ZeRO-Offload (arXiv 2101.06840) and
// FSDP's CPUOffloadPolicy work like this.
struct OptimizerOffload {
  double fraction = 1;     // fraction of the parameters
  bool overlap = false;    // the CPU updates a tensor while other tensors are copied
  bool gradients = false;  // gradients accumulate in host memory, where each pass copies its own
  bool weights = false;    // shards of weights are in host memory, and copied up for each pass
  std::optional<std::uint32_t> threads;    // CPU threads for each GPU; default: enough
  std::optional<double> bandwidth;         // bytes/s each way; default: that of the GPU
  std::optional<double> memory_bandwidth;  // bytes/s for each GPU; default: that of the node
};

Offload read_offload(const Field& field);
OptimizerOffload read_optimizer_offload(const Field& field);
std::vector<KeyRow> offload_keys();
std::vector<KeyRow> optimizer_offload_keys();

// Describe what is offloaded: "all layers", "50 % of 4 layers a stage", "core_attn of all layers";
// "the optimizer", "50 % of the optimizer and weights".
std::string to_string(const Offload& offload);
std::string to_string(const OptimizerOffload& offload);

}  // namespace pipewright::config
