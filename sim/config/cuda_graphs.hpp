#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Modules of a layer that Megatron-LM captures individually as CUDA graphs (--cuda-graph-modules,
// CudaGraphModule in megatron/core/transformer/enums.py).
enum class GraphModule : std::uint8_t {
  attn,            // attention of any kind, or a gated delta net
  mlp,             // dense MLPs
  moe,             // mixtures of experts that drop tokens and pad buffers to a capacity
  moe_router,      // router, and shared experts unless dispatch overlaps them
  moe_preprocess,  // preparation of the dispatch
  mamba,           // Mamba-2 layers
};
inline constexpr std::array<std::string_view, 6> graph_modules{
    "attn", "mlp", "moe", "moe_router", "moe_preprocess", "mamba"};

// Work that the host launches as one CUDA graph.
struct CudaGraphs {
  enum class Scope : std::uint8_t {
    none,       // single kernels
    layer,      // the pass of a layer
    iteration,  // the whole iteration
    modules,    // the `modules` of a layer together
  };

  Scope scope = Scope::none;
  std::bitset<graph_modules.size()> modules;

  bool has(GraphModule module) const { return modules.test(static_cast<std::size_t>(module)); }
  // Returns whether the graphs capture all kernels, not only those of some modules.
  bool capture_all() const { return scope == Scope::layer || scope == Scope::iteration; }
  bool operator==(const CudaGraphs&) const = default;
};

// Names of the scopes that a scenario can select by name.
inline constexpr std::array<std::string_view, 3> cuda_graph_names{"none", "layer", "iteration"};

// Reads the key training.cuda_graphs: one of cuda_graph_names, a module, or a list of modules.
// Throws an Error for modules that Megatron-LM does not capture together.
CudaGraphs read_cuda_graphs(const Field& field);

// Describes the graphs: "none", "layer" or "attn and moe_router".
std::string to_string(const CudaGraphs& graphs);

}  // namespace pipewright::config
