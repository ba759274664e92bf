#include "sim/config/cuda_graphs.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/rules.hpp"

// Reads CUDA graphs, with the checks of TransformerConfig in
// megatron/core/transformer/transformer_config.py and of cuda_graph_config.py beside it.
namespace pipewright::jobs::megatron {
namespace {

constexpr std::string_view full_iteration = "full_iteration";

// CUDA graphs of a job, in the words of its settings.
struct Graphs {
  std::string implementation;       // local, transformer_engine or full_iteration
  const Setting* chosen = nullptr;  // setting that chooses the implementation; null: no graphs
  const Setting* scope = nullptr;   // setting that lists the modules; null: none does
  std::vector<std::string> names;   // listed modules and scopes

  bool lists(std::string_view name) const { return std::ranges::find(names, name) != names.end(); }
  // Returns whether the graphs capture layers or modules, one by one.
  bool are_of_layers() const { return implementation != full_iteration && !lists(full_iteration); }
};

// Returns the names that --cuda-graph-scope or --cuda-graph-modules lists, as words, in one word
// with commas, or as members of Python's enumeration: "CudaGraphScope.attn".
std::vector<std::string> graph_names(const Setting& setting) {
  std::vector<std::string> names;
  for (const std::string& word : setting.values)
    for (const auto part : std::views::split(word, ',')) {
      const std::string name(part.begin(), part.end());
      names.push_back(name.substr(name.rfind('.') + 1));
    }
  return names;
}

// Finds the setting that chooses the implementation. The two older flags choose one each.
void find_implementation(Draft& draft, Graphs& graphs) {
  const Setting* const named = draft.find("cuda_graph_impl");
  const bool is_named =
      named != nullptr && !named->values.empty() && !is_off(named->values.front());
  for (const auto& [flag, implementation] :
       {std::pair{"enable_cuda_graph", "local"},
        std::pair{"external_cuda_graph", "transformer_engine"}}) {
    if (!draft.on(flag)) continue;
    const Setting* const setting = draft.find(flag);
    if (is_named)
      throw refusal(*setting,
                    "Do not use enable_cuda_graph or external_cuda_graph with cuda_graph_impl.");
    if (graphs.chosen != nullptr)
      throw refusal(
          *setting,
          "enable_cuda_graph and external_cuda_graph cannot be enabled at the same time.");
    graphs.chosen = setting;
    graphs.implementation = implementation;
  }
  if (!is_named) return;
  graphs.chosen = named;
  graphs.implementation = named->values.front();
  constexpr std::array<std::string_view, 3> known{"local", "transformer_engine", full_iteration};
  if (std::ranges::find(known, graphs.implementation) == known.end())
    throw refusal(*named,
                  "invalid choice (choose from none, local, transformer_engine, full_iteration)");
}

Graphs find_graphs(Draft& draft) {
  Graphs graphs;
  graphs.scope = draft.find("cuda_graph_scope");
  const Setting* const modules = draft.find("cuda_graph_modules");
  if (graphs.scope == nullptr) graphs.scope = modules;
  find_implementation(draft, graphs);
  if (graphs.scope == nullptr) return graphs;
  graphs.names = graph_names(*graphs.scope);
  std::erase_if(graphs.names, [](const std::string& name) { return is_off(name); });
  return graphs;
}

void check_whole_scopes(const Graphs& graphs) {
  if (graphs.lists("full") && graphs.names.size() > 1)
    throw refusal(*graphs.scope, "full scope cannot be used with other scopes.");
  const bool lists_iteration = graphs.lists(full_iteration);
  if (lists_iteration && graphs.implementation == "transformer_engine")
    throw refusal(*graphs.scope,
                  "full_iteration cannot be combined with "
                  "cuda_graph_impl='transformer_engine'.");
  const bool lists_modules = graphs.names.size() > (lists_iteration ? 1U : 0U);
  if (!graphs.are_of_layers() && lists_modules && !graphs.lists("full"))
    throw refusal(*graphs.scope,
                  "cuda_graph_modules must be empty when cuda_graph_impl=\"full_iteration\".");
}

bool are_all_layers_experts(const Draft& draft) {
  return draft.at("model.experts") != nullptr &&
         draft.count_at("model.experts.first_dense", 0) == 0 &&
         draft.count_at("model.experts.every", 1) == 1;
}

// Checks the modules of experts. A recipe's model may have experts with any settings.
void check_expert_modules(Draft& draft, const Graphs& graphs) {
  const bool router = graphs.lists("moe_router");
  const auto refuse = [&](std::string_view message) { throw refusal(*graphs.scope, message); };
  if (graphs.lists("moe") && router)
    refuse("cuda_graph_modules must not contain both moe and moe_router.");
  if (graphs.lists("moe_preprocess") && !router)
    refuse("moe_preprocess cuda graph is only supported with moe_router cuda graph.");
  if (!may_have_experts(draft)) {
    if (graphs.lists("moe") || router) refuse("moe cuda graph is only supported for MoE.");
    return;
  }
  if (!draft.request().model.empty()) return;
  if (graphs.lists("mlp") && are_all_layers_experts(draft))
    refuse("mlp cuda graph is only supported for dense layers, but not found in the model.");
  const bool has_capacity = draft.find("moe_expert_capacity_factor") != nullptr &&
                            !is_off(draft.text("moe_expert_capacity_factor"));
  if (has_capacity && draft.on("moe_pad_expert_input_to_capacity")) return;
  if (graphs.lists("moe")) refuse("moe cuda graph is only supported with drop-padding MoE.");
  if (graphs.lists("moe_preprocess") && draft.text("moe_token_dispatcher_type") == "alltoall" &&
      (has_capacity || draft.on("moe_router_padding_for_fp8")))
    refuse(
        "moe_preprocess cuda graph is not supported when there are DtoH copies and "
        "synchronizations in the preprocess step.");
}

void check_recomputation(Draft& draft, const Graphs& graphs) {
  if (draft.count("cpu_offloading_num_layers").value_or(0) > 0)
    throw refusal(*graphs.chosen, "CUDA graphs not supported with CPU offloading.");
  const config::Value* const granularity = draft.at("training.recompute.granularity");
  if (granularity != nullptr && granularity->text == "full")
    throw refusal(*graphs.chosen,
                  "full recompute is only supported with full iteration CUDA graph.");
  const config::Value* const modules = draft.at("training.recompute.modules");
  const bool recomputes_moe =
      modules != nullptr &&
      std::ranges::find(modules->items, "moe", &config::Value::text) != modules->items.end();
  if (recomputes_moe && graphs.lists("moe_router") && graphs.implementation == "transformer_engine")
    throw refusal(*graphs.scope,
                  "moe recompute is not supported with moe_router CUDA graph with: "
                  "--cuda-graph-impl transformer_engine.");
}

// The implementation `local` captures router and preprocessing of experts together.
void complete_expert_modules(Graphs& graphs) {
  constexpr std::array<const char*, 2> parts{"moe_router", "moe_preprocess"};
  if (std::ranges::none_of(parts, [&](const char* part) { return graphs.lists(part); })) return;
  for (const char* const part : parts)
    if (!graphs.lists(part)) graphs.names.emplace_back(part);
}

}  // namespace

bool has_experts(Draft& draft) {
  return draft.on("num_experts") || draft.known("model.experts") != nullptr;
}

bool may_have_experts(Draft& draft) {
  return has_experts(draft) ||
         (draft.request().dialect == Dialect::recipe && draft.request().model.empty() &&
          draft.find("hidden_size") == nullptr);
}

void read_cuda_graphs(Draft& draft) {
  Graphs graphs = find_graphs(draft);
  if (graphs.chosen == nullptr) return;
  check_whole_scopes(graphs);
  if (!graphs.are_of_layers())
    return draft.set("training.cuda_graphs", "iteration",
                     graphs.lists(full_iteration) ? *graphs.scope : *graphs.chosen);
  if (graphs.implementation == "local") complete_expert_modules(graphs);
  check_expert_modules(draft, graphs);
  check_recomputation(draft, graphs);
  std::vector<std::string> captured;
  for (const std::string& name : graphs.names)
    if (std::ranges::find(config::graph_modules, name) != config::graph_modules.end())
      captured.push_back(name);
    else if (name != "full" && name != "full_iteration_inference")
      draft.not_understood(*graphs.scope, fmt::format("the module {} is not read", name));
  if (captured.empty()) return draft.set("training.cuda_graphs", "layer", *graphs.chosen);
  draft.set("training.cuda_graphs", config::make_list(captured, graphs.scope->origin),
            *graphs.scope);
}

}  // namespace pipewright::jobs::megatron
