#include "sim/config/cuda_graphs.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"

namespace pipewright::config {
namespace {

using Scope = CudaGraphs::Scope;

// The names that a single text may have: first those of the scopes, then those of the modules.
constexpr auto text_names = [] {
  std::array<std::string_view, cuda_graph_names.size() + graph_modules.size()> names;
  auto* const next = std::ranges::copy(cuda_graph_names, names.begin()).out;
  std::ranges::copy(graph_modules, next);
  return names;
}();

CudaGraphs read_graph_modules(const Field& field) {
  CudaGraphs graphs{.scope = Scope::modules};
  for (const Field& item : items(field, "one module or more, such as [attn, moe_router]"))
    graphs.modules.set(read_choice(item, graph_modules));
  return graphs;
}

// Checks the rules that TransformerConfig has for the modules of experts
// (megatron/core/transformer/transformer_config.py).
void check_expert_modules(const Field& field, const CudaGraphs& graphs) {
  const bool router = graphs.has(GraphModule::moe_router);
  const bool preprocess = graphs.has(GraphModule::moe_preprocess);
  const auto refuse = [&](std::string_view fault, std::string_view suggestion) {
    throw Error(field.value.origin, fmt::format("{} has {}", field.name, fault), field.name)
        .suggest(std::string(suggestion));
  };
  if (graphs.has(GraphModule::moe) && (router || preprocess))
    refuse(fmt::format("moe together with {}, which is a part of moe",
                       router ? "moe_router" : "moe_preprocess"),
           "leave out moe, or moe_router and moe_preprocess");
  if (preprocess && !router)
    refuse("moe_preprocess without moe_router, whose graph captures both", "add moe_router");
}

}  // namespace

CudaGraphs read_cuda_graphs(const Field& field) {
  if (field.value.kind != Value::Kind::list) {
    const std::size_t name = read_choice(field, text_names);
    if (name < cuda_graph_names.size()) return {.scope = static_cast<Scope>(name)};
  }
  const CudaGraphs graphs = read_graph_modules(field);
  check_expert_modules(field, graphs);
  return graphs;
}

std::string to_string(const CudaGraphs& graphs) {
  if (graphs.scope != Scope::modules)
    return std::string(base::name_of(cuda_graph_names, graphs.scope));
  return fmt::format("{}", fmt::join(base::selected_names(graph_modules, graphs.modules), " and "));
}

}  // namespace pipewright::config
