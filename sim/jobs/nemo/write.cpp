#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/nemo/aliases.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/python_list.hpp"
#include "sim/jobs/shell/quote.hpp"

namespace pipewright::jobs::nemo {
namespace {

// Flag of Megatron-LM whose name differs in NeMo's configuration (megatron_gpt_config.yaml).
struct NemoName {
  std::string_view flag;
  std::string_view name;
};
constexpr std::array nemo_names{
    NemoName{"seq_length", "encoder_seq_length"},
    NemoName{"overlap_grad_reduce", "optim.overlap_grad_sync"},
    NemoName{"overlap_param_gather", "optim.overlap_param_sync"},
    NemoName{"recompute_granularity", "activations_checkpoint_granularity"},
    NemoName{"recompute_method", "activations_checkpoint_method"},
    NemoName{"recompute_num_layers", "activations_checkpoint_num_layers"},
    NemoName{"tp_comm_overlap", "ub_tp_comm_overlap"},
    NemoName{"vocab_size", "override_vocab_size"},
};

// Override for a setting whose name or value differs in NeMo, such as "activation=fast-swiglu";
// empty for other settings.
std::string nemo_override(const Setting& setting) {
  const std::string value = setting.values.empty() ? "true" : setting.values.front();
  const bool no = is_off(value);
  if (setting.name == "swiglu") return "activation=fast-swiglu";
  if (setting.name == "normalization")
    return value == "RMSNorm" ? "normalization=rmsnorm" : "normalization=layernorm";
  if (setting.name == "disable_bias_linear") return no ? "bias=true" : "bias=false";
  if (setting.name == "use_distributed_optimizer")
    return no ? "optim.name=fused_adam" : "optim.name=distributed_fused_adam";
  if (setting.name == "grad_reduce_in_bf16") return "optim.grad_sync_dtype=bf16";
  if (setting.name == "fp8_format") return value == "hybrid" ? "fp8_hybrid=true" : "fp8_e4m3=true";
  const auto row = std::ranges::find(nemo_names, std::string_view(setting.name), &NemoName::flag);
  return row == nemo_names.end() ? "" : fmt::format("{}={}", row->name, value);
}

// Name of Megatron-Bridge's precision recipe that corresponds to Megatron-LM's flags.
std::string precision_of(std::span<const Setting> settings) {
  const auto find = [&](std::string_view name) {
    return std::ranges::find(settings, name, &Setting::name);
  };
  if (find("fp4_format") != settings.end()) return "bf16_with_nvfp4_mixed";
  if (find("fp8_format") == settings.end())
    return find("fp16") != settings.end() ? "fp16_mixed" : "bf16_mixed";
  const auto recipe = find("fp8_recipe");
  const std::string name =
      recipe == settings.end() || recipe->values.empty() ? "" : recipe->values.front();
  if (name == "mxfp8") return "bf16_with_mxfp8_mixed";
  return name == "blockwise" ? "bf16_with_fp8_subchannel_scaling_mixed"
                             : "bf16_with_fp8_current_scaling_mixed";
}

// Attributes of Megatron-Bridge's LoRA by the names of lora_flags.
constexpr std::array peft_names{NemoName{"lora_rank", "dim"},
                                NemoName{"lora_modules", "target_modules"},
                                NemoName{"lora_dropout", "dropout"}};

// Adds the settings of adapters that Megatron-Bridge's LoRA has: those of the fused products, in
// the type of the recipe. Their kind is that of the recipe.
void add_peft(const config::Scenario& scenario, std::vector<Setting>& settings) {
  using config::LoraModule;
  if (!scenario.training.lora) return;
  const config::Lora& lora = *scenario.training.lora;
  settings.push_back({.name = "lora", .values = {"lora"}});
  settings.push_back({.name = "lora_rank", .values = {fmt::format("{}", lora.rank)}});
  Setting modules{.name = "lora_modules"};
  for (std::size_t i = 0; i < config::lora_modules.size(); ++i) {
    const auto module = static_cast<LoraModule>(i);
    const bool is_part = LoraModule::q_proj <= module && module <= LoraModule::up_proj;
    if (lora.has(module) && !is_part) modules.values.emplace_back(config::lora_modules[i]);
  }
  if (!modules.values.empty()) settings.push_back(std::move(modules));
  if (lora.dropout > 0)
    settings.push_back({.name = "lora_dropout", .values = {fmt::format("{}", lora.dropout)}});
  if (scenario.model->value.experts && lora.experts != config::Lora::Experts::none)
    settings.push_back(
        {.name = "lora_experts",
         .values = {lora.experts == config::Lora::Experts::shared ? "shared" : "each"}});
}

std::string override_of(const Setting& setting, bool for_nemo) {
  if (for_nemo)
    if (const std::string text = nemo_override(setting); !text.empty()) return "model." + text;
  const auto flags = megatron::flags();
  const auto flag = std::ranges::find(flags, std::string_view(setting.name), &Flag::name);
  std::string section = flag != flags.end() ? std::string(flag->section) : "";
  if (section.empty() || for_nemo) section = "model";
  std::string name = setting.name;
  std::string value = setting.values.empty() ? "true" : setting.values.front();
  if (setting.values.size() > 1 || name == "lora_modules")
    value = fmt::format("[{}]", fmt::join(setting.values, ","));
  // Arguments are evaluated as Python, overrides are not.
  if (setting.name == "moe_layer_freq" && !for_nemo)
    if (const auto layers = python_list(value))
      value = fmt::format("[{}]", fmt::join(*layers, ","));
  if (name == "lora_experts")
    return fmt::format("peft.share_expert_adapters={}", value == "shared" ? "true" : "false");
  if (const auto* const row =
          std::ranges::find(peft_names, std::string_view(name), &NemoName::flag);
      row != peft_names.end())
    return fmt::format("peft.{}={}", row->name, value);
  const auto alias = std::ranges::find_if(aliases, [&](const Alias& alias_row) {
    return alias_row.written && alias_row.flag == setting.name;
  });
  if (alias != aliases.end()) {
    name = alias->name;
    if (alias->inverted) value = is_off(value) ? "true" : "false";
  }
  if (name == "tp_comm_overlap") section = "comm_overlap";
  return fmt::format("{}.{}={}", section, name, value);
}

// Name of Megatron-Bridge's recipe for a model: "llama3_70b" for llama-3-70b.
std::string recipe_name(const std::string& model) {
  std::string name = model;
  std::ranges::replace(name, '-', '_');
  if (name.starts_with("llama_3_")) name = "llama3_" + name.substr(8);
  return name;
}

// Adds the parallel sizes and divisions of layers that settings leave out because they are those
// of a job without them. A recipe may have others, which an override replaces.
void add_absent_sizes(bool has_experts, std::vector<Setting>& settings) {
  const auto find = [&](std::string_view name) {
    return std::ranges::find(settings, name, &Setting::name);
  };
  const auto add = [&](const char* name, const char* value) {
    if (find(name) == settings.end()) settings.push_back({.name = name, .values = {value}});
  };
  for (const char* const size : {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                                 "context_parallel_size", "expert_model_parallel_size"}) {
    const bool is_known =
        size == std::string_view("expert_model_parallel_size") ? has_experts : true;
    if (is_known) add(size, "1");
  }
  if (find("pipeline_model_parallel_size")->values.front() == "1") return;
  if (find("num_virtual_stages_per_pipeline_rank") == settings.end())
    add("virtual_pipeline_model_parallel_size", "null");
  // Megatron-Core refuses a layout beside other divisions of layers.
  add("pipeline_model_parallel_layout", "null");
  add("account_for_embedding_in_pipeline_split", "false");
  add("account_for_loss_in_pipeline_split", "false");
  add("decoder_first_pipeline_num_layers", "null");
  add("decoder_last_pipeline_num_layers", "null");
}

Launch write_overrides(const LaunchInput& input, std::string_view command, bool for_nemo) {
  megatron::Written written = megatron::write(input.scenario, input.plan, false);
  if (!for_nemo)
    add_absent_sizes(input.scenario.model->value.experts.has_value(), written.settings);
  std::erase_if(written.settings, [&](const Setting& setting) {
    // NeMo's configurations of Megatron GPT choose between Adam and its fused versions. In
    // Megatron-Bridge, the recipe of the precision decides the data type of gradients.
    return for_nemo ? setting.name == "optimizer" || setting.name.starts_with("muon_")
                    : setting.name == "grad_reduce_in_bf16" ||
                          setting.name == "accumulate_allreduce_grads_in_fp32";
  });
  if (!for_nemo) add_peft(input.scenario, written.settings);
  Unexpressed unexpressed = megatron::unexpressed(input, written, Dialect::recipe);
  Launch launch{.extension = ".sh",
                .differs = std::move(unexpressed.differs),
                .refused = std::move(unexpressed.refused)};
  launch.text =
      fmt::format("#!/bin/bash\n{}{}{}", heading(input, launch), environment_lines(input), command);
  for (const std::string& override : overrides_of(written.settings, for_nemo))
    launch.text += fmt::format(" \\\n  {}", shell_word(override));
  launch.text += "\n";
  return launch;
}

}  // namespace

std::vector<std::string> overrides_of(std::span<const Setting> settings, bool for_nemo) {
  std::vector<std::string> lines;
  const bool is_fp16 =
      std::ranges::find(settings, std::string_view("fp16"), &Setting::name) != settings.end();
  lines.push_back(for_nemo ? fmt::format("trainer.precision={}", is_fp16 ? "16" : "bf16")
                           : fmt::format("mixed_precision={}", precision_of(settings)));
  for (const Setting& setting : settings) {
    const bool is_format = setting.name.starts_with("fp8_format") || setting.name == "fp8_recipe" ||
                           setting.name == "fp4_format";
    if (setting.name == "bf16" || setting.name == "fp16" || (is_format && !for_nemo)) continue;
    if (setting.name == "lora") continue;  // the recipe chooses the kind of adapters
    if (for_nemo && setting.name == "fp8_format") lines.emplace_back("model.fp8=true");
    lines.push_back(override_of(setting, for_nemo));
    if (for_nemo) continue;
    // Megatron-Bridge refuses a data set with another sequence than the model, and replaces the
    // model's vocabulary by the tokenizer's.
    if (setting.name == "seq_length")
      lines.push_back(fmt::format("dataset.seq_length={}", setting.values.front()));
    if (setting.name == "vocab_size")
      lines.emplace_back("tokenizer.use_tokenizer_vocab_size=false");
  }
  return lines;
}

Launch write_bridge(const LaunchInput& input) {
  const LaunchNodes nodes = launch_nodes(input.scenario, input.plan);
  const std::string recipe = recipe_name(input.scenario.model->value.name) +
                             (input.scenario.training.lora ? "_peft_config" : "_pretrain_config");
  return write_overrides(
      input,
      fmt::format("torchrun --nnodes {} --nproc_per_node {} run_recipe.py --recipe {}", nodes.nodes,
                  nodes.processes, shell_word(recipe)),
      false);
}

Launch write_nemo(const LaunchInput& input) {
  const LaunchNodes nodes = launch_nodes(input.scenario, input.plan);
  return write_overrides(
      input,
      fmt::format("python megatron_gpt_pretraining.py trainer.num_nodes={} trainer.devices={}",
                  nodes.nodes, nodes.processes),
      true);
}

}  // namespace pipewright::jobs::nemo
