#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/rules.hpp"

namespace pipewright::jobs::megatron {
namespace {

using config::Scenario;

// Writes the types of modules that have flags. Others would need a file of patterns.
void write_module_types(SettingsWriter& writer) {
  using config::PrecisionModule;
  const config::Training& training = writer.scenario().training;
  const config::ModuleTypes& types = training.module_types;
  for (std::size_t i = 0; i < config::precision_modules.size(); ++i) {
    const auto module = static_cast<PrecisionModule>(i);
    const config::DataType type = type_of(training.precision, types, module);
    if (type == type_of(training.precision, {}, module)) continue;
    const bool is_recipe = type == training.precision;
    if (module == PrecisionModule::attention && is_recipe)
      writer.add("fp8_dot_product_attention");
    else if (module == PrecisionModule::head && is_recipe && type == config::DataType::mxfp8)
      writer.add("fp8_output_proj");
    else
      writer.cannot(fmt::format("training.precision.{}", config::precision_modules[i]),
                    module == PrecisionModule::attention
                        ? "Transformer Engine takes the recipe of attention from the variable "
                          "NVTE_DPA_FP8_RECIPE"
                        : "types of modules need a file for --te-precision-config-file");
  }
  if (types.layers_at_start + types.layers_at_end > 0) {
    writer.add("first_last_layers_bf16");
    writer.add("num_layers_at_start_in_bf16", types.layers_at_start);
    writer.add("num_layers_at_end_in_bf16", types.layers_at_end);
  } else if (!writer.writes_arguments() && training.precision == config::DataType::fp8) {
    // Megatron-Bridge's recipes of tensorwise scaling keep the first and the last layer in bf16.
    writer.add("first_last_layers_bf16", "false");
  }
}

void write_precision(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const std::string_view name = config::name_of(scenario.training.precision);
  if (name == "fp8-row")
    writer.cannot("training.precision", "Transformer Engine has no recipe with a scale per row");
  write_module_types(writer);
  writer.add(name == "fp16" ? "fp16" : "bf16");
  if (name == "nvfp4") writer.add("fp4_format", "e2m1");
  if (!name.starts_with("fp8") && name != "mxfp8") return;
  writer.add("fp8_format", name == "fp8-block" ? "e4m3" : "hybrid");
  writer.add("fp8_recipe", name == "mxfp8"       ? "mxfp8"
                           : name == "fp8-block" ? "blockwise"
                                                 : "tensorwise");
}

// Writes the backend if the stack has only kernels of one. If it prefers several, Transformer
// Engine chooses, as its stack does.
void write_attention_backend(SettingsWriter& writer) {
  const config::Training& training = writer.scenario().training;
  const bool is_local = training.stack.name == local_stack;
  if (is_local) writer.add("transformer_impl", "local");
  if (!training.flash_attention) return writer.add("attention_backend", "unfused");
  if (is_local) return writer.add("use_flash_attn");
  using config::AttentionKernel;
  const auto has = [&](AttentionKernel kernel) {
    return std::ranges::find(training.stack.attention, kernel) != training.stack.attention.end();
  };
  const bool fused = has(AttentionKernel::cudnn) || has(AttentionKernel::cudnn_9_2);
  const bool flash = has(AttentionKernel::fa2) || has(AttentionKernel::fa3);
  if (fused != flash) writer.add("attention_backend", fused ? "fused" : "flash");
}

// Adds a setting that lists the selected ones of the modules `names`.
template <std::size_t count>
void add_modules(SettingsWriter& writer, std::string_view name,
                 const std::array<std::string_view, count>& names,
                 const std::bitset<count>& selected) {
  Setting modules{.name = std::string(name)};
  for (std::size_t i = 0; i < count; ++i)
    if (selected.test(i)) modules.values.emplace_back(names[i]);
  writer.settings.push_back(std::move(modules));
}

void write_cuda_graphs(SettingsWriter& writer) {
  using Scope = config::CudaGraphs::Scope;
  const config::CudaGraphs& graphs = writer.scenario().training.cuda_graphs;
  if (graphs.scope == Scope::none) return;
  constexpr std::array<std::string_view, 4> implementations{"none", "local", "full_iteration",
                                                            "transformer_engine"};
  writer.add("cuda_graph_impl", base::name_of(implementations, graphs.scope));
  if (graphs.scope == Scope::modules)
    add_modules(writer, "cuda_graph_modules", config::graph_modules, graphs.modules);
}

void write_recompute(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  using Granularity = config::Recompute::Granularity;
  const config::Recompute& recompute = scenario.training.recompute;
  if (recompute.granularity == Granularity::none) return;
  if (recompute.granularity == Granularity::op || recompute.every > 1)
    return writer.cannot("training.recompute",
                         "only torchtitan recomputes by operations, or one layer in several");
  if (recompute.granularity == Granularity::selective) {
    writer.add("recompute_granularity", "selective");
    return add_modules(writer, "recompute_modules", config::recompute_modules, recompute.modules);
  }
  writer.add("recompute_granularity", "full");
  writer.add("recompute_method", recompute.block > 0 ? "block" : "uniform");
  writer.add("recompute_num_layers", recompute.block > 0 ? recompute.block : recompute.uniform);
}

// Writes the size of gradient buckets if it is a whole number of parameters. Recipes have no such
// flag.
void write_bucket(SettingsWriter& writer) {
  const std::optional<std::uint64_t> parameters =
      config::bucket_parameters(writer.scenario().communication);
  if (parameters && writer.writes_arguments()) writer.add("ddp_bucket_size", *parameters);
}

// Writes Muon, whose matrices the ranks of the distributed optimizer share as a whole. Recipes name
// that optimizer dist_muon and have no padded layout.
void write_muon(SettingsWriter& writer) {
  using config::Optimizer;
  const Optimizer& optimizer = writer.scenario().training.optimizer;
  const std::uint32_t zero = writer.scenario().parallel.zero;
  if (optimizer.name != Optimizer::Name::muon) {
    if (optimizer.name != Optimizer::Name::adam)
      writer.cannot("training.optimizer.name",
                    fmt::format("Megatron-LM has no {}",
                                base::name_of(config::optimizer_names, optimizer.name)));
    for (const char* const name : {"muon_num_ns_steps", "muon_tp_mode", "muon_fp32_matmul_prec",
                                   "muon_no_split_qkv", "muon_split_qkv"})
      writer.remove({name});
    return;
  }
  if (zero > 1 || config::mode_of(optimizer, zero) != Optimizer::Mode::layer_wise)
    writer.cannot("training.optimizer.mode",
                  "Megatron-LM's Muon gives whole matrices to ranks, with parallel.zero 1");
  const bool is_dealt = zero == 1 && optimizer.layout == Optimizer::Layout::ping_pong;
  writer.add("optimizer", zero == 1 && !writer.writes_arguments() ? "dist_muon" : "muon");
  if (is_dealt && writer.writes_arguments()) writer.add("no_use_layer_wise_param_layout");
}

void write_optimizer(SettingsWriter& writer) {
  write_muon(writer);
  const Scenario& scenario = writer.scenario();
  const config::Optimizer& optimizer = scenario.training.optimizer;
  const bool half = scenario.communication.gradient_bytes == 2;
  const bool sums_half = optimizer.main_grads == config::Optimizer::MainGrads::bf16;
  const bool is_fp16 = scenario.training.precision == config::DataType::fp16;
  if (half && !is_fp16) writer.add("grad_reduce_in_bf16");
  if (is_fp16 && !half) writer.add("accumulate_allreduce_grads_in_fp32");
  const config::Optimizer usual;
  const bool aware = optimizer.exp_avg != usual.exp_avg ||
                     optimizer.exp_avg_sq != usual.exp_avg_sq ||
                     optimizer.main_params != usual.main_params;
  const bool turns_on = aware || (sums_half && !half) || optimizer.offload;
  if (turns_on) writer.add("use_precision_aware_optimizer");
  // Megatron-LM has no argument for this setting of its configuration.
  if (turns_on && !writer.writes_arguments() && optimizer.main_params == usual.main_params)
    writer.add("store_param_remainders", "false");
  // Only the precision-aware optimizer uses the data types of the optimizer's states.
  if (!turns_on)
    writer.remove({"main_grads_dtype", "exp_avg_dtype", "exp_avg_sq_dtype", "main_params_dtype"});
}

}  // namespace

void write_training(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const config::Training& training = scenario.training;
  writer.add("global_batch_size", std::uint64_t{scenario.microbatches.value} *
                                      scenario.parallel.dp.value * training.microbatch_size);
  if (!writer.has("micro_batch_size")) writer.add("micro_batch_size", training.microbatch_size);
  write_precision(writer);
  write_recompute(writer);
  write_attention_backend(writer);
  write_cuda_graphs(writer);
  write_optimizer(writer);
  write_bucket(writer);
}

}  // namespace pipewright::jobs::megatron
