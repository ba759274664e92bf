#include "sim/config/offload.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/rules.hpp"

// Flags that move activations or the optimizer to host memory.
namespace pipewright::jobs::megatron {
namespace {

void ignore(Draft& draft, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const Setting* const setting = draft.find(name); setting != nullptr)
      draft.without_effect(*setting, "without offloading, or how the host keeps its copies");
}

// Reads the layers whose activations are all moved. A recipe that sets the number of layers may
// still turn offloading off.
bool read_offloaded_layers(Draft& draft) {
  const Setting* const enable = draft.find("cpu_offloading");
  const Setting* const layers = draft.find("cpu_offloading_num_layers");
  const auto count = draft.count("cpu_offloading_num_layers");
  const bool is_off = enable != nullptr && !draft.on("cpu_offloading");
  if (is_off || !count || *count == 0) {
    ignore(draft, {"cpu_offloading", "cpu_offloading_num_layers"});
    return false;
  }
  draft.set("training.offload.num_layers", fmt::format("{}", *count), *layers);
  return true;
}

// Reads the modules of fine-grained offloading, as TransformerConfig checks them.
std::vector<std::string> read_offload_modules(Draft& draft, const Setting& setting) {
  constexpr std::string_view of_experts[] = {"mlp_norm", "expert_fc1", "moe_act"};
  std::vector<std::string> modules;
  const auto add = [&](const std::string& name) {
    const bool needs_experts = std::ranges::find(of_experts, name) != std::end(of_experts);
    if (needs_experts && !may_have_experts(draft)) return;  // identity, or no such module
    if (std::ranges::find(modules, name) == modules.end()) modules.push_back(name);
  };
  for (const std::string& name : setting.values) {
    if (name == "fused_group_mlp") {
      add("expert_fc1");
      add("moe_act");
    } else if (name == "gdp_qkv") {
      draft.not_understood(setting, "the module gdp_qkv is not read: memory of gated delta nets");
    } else if (std::ranges::find(config::offload_modules, name) != config::offload_modules.end()) {
      add(name);
    } else {
      throw refusal(setting,
                    fmt::format("Invalid choices for offload_modules: {}. Allowed modules are: {}",
                                name, fmt::join(config::offload_modules, ", ")));
    }
  }
  const auto has = [&](std::string_view name) {
    return std::ranges::find(modules, name) != modules.end();
  };
  if (has("attn_proj") && !has("core_attn"))
    throw refusal(setting,
                  "attn_proj cannot be set to offload_modules alone without core_attn because the "
                  "input of attn_proj is the output of core_attn, which is needed in "
                  "core_attn.backward()");
  return modules;
}

void read_fine_grained_offload(Draft& draft, bool moves_layers) {
  constexpr std::string_view flag = "fine_grained_activation_offloading";
  ignore(draft, {"min_offloaded_tensor_size", "delay_offload_until_cuda_graph",
                 "fine_grained_offloading_max_inflight_offloads"});
  const Setting* const modules = draft.find("offload_modules");
  const double fraction = draft.fraction("activation_offload_fraction", 1);
  const Setting* const less = draft.find("delta_offload_bytes_across_pp_ranks");
  if (!draft.on(flag) || fraction == 0)
    return ignore(draft, {flag, "offload_modules", "activation_offload_fraction",
                          "delta_offload_bytes_across_pp_ranks"});
  if (moves_layers)
    throw refusal(*draft.find(flag),
                  "fine_grained_activation_offloading cannot be enabled with cpu_offloading");
  if (modules == nullptr || modules->values.empty())
    throw refusal(*draft.find(flag), "it needs --offload-modules, such as core_attn attn_proj");
  if (less != nullptr && draft.text(less->name) != "0")
    draft.not_understood(*less,
                         "later pipeline ranks offload as much as the first: time and memory");
  else
    ignore(draft, {"delta_offload_bytes_across_pp_ranks"});
  const std::vector<std::string> names = read_offload_modules(draft, *modules);
  if (names.empty()) return;
  draft.set("training.offload.modules", config::make_list(names, modules->origin),
            modules->written);
  if (fraction < 1)
    draft.set("training.offload.share", fmt::format("{}", fraction),
              *draft.find("activation_offload_fraction"));
}

// Throws the errors of Megatron-LM's arguments for an optimizer on the CPU.
void check_optimizer_offload(Draft& draft, const Setting& offload) {
  if (!draft.on("use_precision_aware_optimizer"))
    throw refusal(offload,
                  "The optimizer cpu offload must be used in conjunction with "
                  "`--use-precision-aware-optimizer`, as the hybrid device optimizer reuses the "
                  "code path of this flag");
  if (draft.on("fp8_param_gather") && draft.text("fp8_recipe", "delayed") != "delayed")
    throw refusal(offload,
                  "When `--fp8-param-gather` is enabled, the optimizer cpu offload must be used "
                  "in conjunction with `--fp8-recipe delayed`");
}

}  // namespace

void read_offload(Draft& draft) {
  const bool moves_layers = read_offloaded_layers(draft);
  read_fine_grained_offload(draft, moves_layers);
}

void read_optimizer_offload(Draft& draft) {
  const Setting* const offload = draft.find("optimizer_cpu_offload");
  const Setting* const overlap = draft.find("overlap_cpu_optimizer_d2h_h2d");
  const Setting* const threads = draft.find("omp_num_threads");
  // Both values of the flag give the same optimizer classes for Adam (core/optimizer/__init__.py).
  ignore(draft, {"use_torch_optimizer_for_cpu_offload"});
  // Arguments offload everything by default, a recipe's OptimizerConfig nothing.
  const double fraction =
      draft.fraction("optimizer_offload_fraction", has_argument_defaults(draft) ? 1 : 0);
  if (!draft.on("optimizer_cpu_offload") || fraction == 0)
    return ignore(draft, {"optimizer_cpu_offload", "optimizer_offload_fraction",
                          "overlap_cpu_optimizer_d2h_h2d", "omp_num_threads", "pin_cpu_grads",
                          "pin_cpu_params", "no_pin_cpu_grads", "no_pin_cpu_params"});
  if (has_argument_defaults(draft)) check_optimizer_offload(draft, *offload);
  const Setting* const explicit_fraction = draft.find("optimizer_offload_fraction");
  draft.set("training.optimizer.offload.fraction", fmt::format("{}", fraction),
            explicit_fraction != nullptr ? *explicit_fraction : *offload);
  if (draft.on("overlap_cpu_optimizer_d2h_h2d"))
    draft.set("training.optimizer.offload.overlap", "true", *overlap);
  else
    ignore(draft, {"overlap_cpu_optimizer_d2h_h2d"});
  if (threads != nullptr) {
    draft.set("training.optimizer.offload.threads", draft.text("omp_num_threads"), *threads);
    if (threads->written.starts_with("torchrun"))
      draft.assume(
          "torchrun gives each process one thread of the CPU, which makes the optimizer step, "
          "unless OMP_NUM_THREADS is set, such as OMP_NUM_THREADS=14");
  }
  constexpr std::string_view pageable =
      "copies from and to pageable memory slow the step of the optimizer, and pinned memory is "
      "predicted";
  for (const std::string_view name : {"no_pin_cpu_grads", "no_pin_cpu_params"})
    if (const Setting* const setting = draft.find(name); setting != nullptr && draft.on(name))
      draft.not_modelled(*setting, Changes::time, pageable);
  for (const std::string_view name : {"pin_cpu_grads", "pin_cpu_params"})
    if (const Setting* const setting = draft.find(name); setting != nullptr && !draft.on(name))
      draft.not_modelled(*setting, Changes::time, pageable);
}

void write_offload(SettingsWriter& writer) {
  const config::Training& training = writer.scenario().training;
  if (const auto& offload = training.offload) {
    if (offload->modules.any()) {
      Setting modules{.name = "offload_modules"};
      for (std::size_t i = 0; i < config::offload_modules.size(); ++i)
        if (offload->modules.test(i)) modules.values.emplace_back(config::offload_modules[i]);
      writer.add("fine_grained_activation_offloading");
      writer.settings.push_back(std::move(modules));
      if (offload->share < 1) writer.add("activation_offload_fraction", offload->share);
    } else if (offload->layers) {
      writer.add("cpu_offloading_num_layers", *offload->layers);
    } else {
      writer.cannot("training.offload",
                    "Megatron-LM has no flag that offloads the activations of all layers; give "
                    "training.offload.num_layers");
    }
  }
  const auto& optimizer = training.optimizer.offload;
  if (!optimizer) return;
  writer.add("optimizer_cpu_offload");
  writer.add("optimizer_offload_fraction", optimizer->fraction);
  if (optimizer->overlap) writer.add("overlap_cpu_optimizer_d2h_h2d");
}

}  // namespace pipewright::jobs::megatron
