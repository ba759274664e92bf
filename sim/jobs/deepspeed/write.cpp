#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "sim/jobs/deepspeed/deepspeed.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/differences.hpp"

namespace pipewright::jobs::deepspeed {
namespace {

// Flags of Megatron-LM that Megatron-DeepSpeed has too (megatron/arguments.py). Its JSON has
// further settings, and the others cannot be expressed.
constexpr std::array common_flags{"attention_dropout",
                                  "bf16",
                                  "disable_bias_linear",
                                  "ffn_hidden_size",
                                  "fp16",
                                  "global_batch_size",
                                  "hidden_dropout",
                                  "hidden_size",
                                  "kv_channels",
                                  "make_vocab_size_divisible_by",
                                  "max_position_embeddings",
                                  "micro_batch_size",
                                  "no_gradient_accumulation_fusion",
                                  "normalization",
                                  "num_attention_heads",
                                  "num_layers",
                                  "num_layers_per_virtual_pipeline_stage",
                                  "pipeline_model_parallel_size",
                                  "recompute_granularity",
                                  "recompute_method",
                                  "recompute_num_layers",
                                  "seq_length",
                                  "sequence_parallel",
                                  "squared_relu",
                                  "swiglu",
                                  "tensor_model_parallel_size",
                                  "tokenizer_model",
                                  "tokenizer_type",
                                  "transformer_impl",
                                  "untie_embeddings_and_output_weights",
                                  "vocab_size"};

// Part of a training that Megatron-DeepSpeed does not have, or for which it has layers and flags of
// its own; empty if there is none.
std::string_view foreign_part(const config::Scenario& scenario) {
  const config::Model& model = scenario.model->value;
  if (!model.pattern.empty()) return "a pattern of layers";
  if (model.latent) return "latent attention";
  if (model.mtp_layers > 0) return "multi-token prediction";
  if (model.experts) return "layers of experts as in Megatron-LM";
  return config::is_scaled(scenario.training.precision) ? "products in 8 or 4 bits" : "";
}

// Throws config::Error for a training that Megatron-DeepSpeed cannot run.
void check_training(const config::Scenario& scenario) {
  const std::string_view part = foreign_part(scenario);
  if (part.empty()) return;
  throw config::Error(fmt::format("{} has {}, which Megatron-DeepSpeed does not have",
                                  scenario.model->value.name, part))
      .suggest("write the launch for megatron or bridge");
}

// Gives a flag the name that Megatron-DeepSpeed has for it. Returns false if it has none.
bool rename(Setting& setting) {
  if (std::ranges::find(common_flags, std::string_view(setting.name)) != common_flags.end())
    return true;
  if (setting.name == "num_query_groups") {
    setting.name = "num_key_value_heads";
  } else if (setting.name == "position_embedding_type" && setting.values.front() == "rope") {
    setting = {.name = "use_rotary_position_embeddings"};
  } else {
    return false;
  }
  return true;
}

// Keys of zero_optimization for an optimizer on the host, after the others.
std::string offload_of(const config::Scenario& scenario) {
  const auto& offload = scenario.training.optimizer.offload;
  if (!offload) return "";
  const std::string ratio =
      offload->fraction < 1 ? fmt::format(", \"ratio\": {}", offload->fraction) : "";
  return fmt::format(", \"offload_optimizer\": {{\"device\": \"cpu\"{}}}{}", ratio,
                     offload->weights ? ", \"offload_param\": {\"device\": \"cpu\"}" : "");
}

// ZeRO level; 0 if there is a single rank to shard over.
std::uint32_t zero_of(const config::Scenario& scenario) {
  const config::Parallel& parallel = scenario.parallel;
  return parallel.dp.value == 1 && parallel.cp.value == 1 ? 0 : parallel.zero;
}

std::string json_of(const config::Scenario& scenario) {
  const std::uint64_t micro = scenario.training.microbatch_size;
  const std::uint64_t steps = scenario.microbatches.value;
  const bool is_fp16 = scenario.training.precision == config::DataType::fp16;
  const std::optional<std::uint64_t> bucket = config::bucket_parameters(scenario.communication);
  return fmt::format(
      "{{\n"
      "  \"train_batch_size\": {},\n"
      "  \"train_micro_batch_size_per_gpu\": {},\n"
      "  \"gradient_accumulation_steps\": {},\n"
      "  \"zero_optimization\": {{\"stage\": {}, \"overlap_comm\": {}{}{}}},\n"
      "  \"{}\": {{\"enabled\": true}},\n"
      "  \"data_types\": {{\"grad_accum_dtype\": \"{}\"}}\n"
      "}}\n",
      micro * steps * scenario.parallel.dp.value, micro, steps, zero_of(scenario),
      scenario.communication.overlap_grad_reduce ? "true" : "false",
      bucket ? fmt::format(", \"reduce_bucket_size\": {}", *bucket) : "", offload_of(scenario),
      is_fp16 ? "fp16" : "bf16", scenario.communication.gradient_bytes == 2 ? "bf16" : "fp32");
}

// Differences of the script and its configuration from the scenario.
Unexpressed unexpressed(const LaunchInput& input, Request request, const std::string& json,
                        const std::vector<Difference>& reasons) {
  std::vector<Difference> differences;
  std::string refused;
  try {
    read_config({"ds_config.json", json}, request);
    settle(request);
    differences = jobs::differences(input, megatron::read(std::move(request)));
  } catch (const config::Error& refusal) {
    refused = refusal.what();
  }
  return {stated_differences(reasons, differences), refusal_of(input, refused)};
}

}  // namespace

Launch write(const LaunchInput& launch_input) {
  // The script gives the shape of the model by Megatron-LM's flags.
  LaunchInput input = launch_input;
  input.stack = megatron::older_stack;
  const config::Scenario& scenario = input.scenario;
  check_training(scenario);
  megatron::Written written = megatron::write(scenario, input.plan, true);
  const config::Parallel& parallel = scenario.parallel;
  const auto cannot = [&](std::string_view key, std::string sentence) {
    written.reasons.push_back({std::string(key), std::move(sentence)});
  };
  std::erase_if(written.settings, [](Setting& setting) { return !rename(setting); });
  if (scenario.training.flash_attention) written.settings.push_back({.name = "use_flash_attn_v2"});
  if (parallel.cp.value > 1) {
    written.settings.push_back(
        {.name = "ds_sequence_parallel_size", .values = {fmt::format("{}", parallel.cp.value)}});
    if (parallel.cp_comm != config::ContextComm::a2a)
      cannot("parallel.cp_comm_type",
             "DeepSpeed's sequence parallelism exchanges heads (parallel.cp_comm_type: a2a)");
  }
  if (scenario.schedules.front().name != "1f1b" && scenario.devices.value > 1)
    cannot("schedule.name", fmt::format("DeepSpeed's pipeline runs 1f1b, and not {}",
                                        scenario.schedules.front().name));
  if (zero_of(scenario) > 1 && scenario.devices.value > 1)
    cannot("parallel.zero",
           "ZeRO-2 and ZeRO-3 are incompatible with DeepSpeed's pipeline parallelism");
  const std::uint64_t gpus = parallel.ranks_of_stage() * scenario.devices.value;
  const std::string json = json_of(scenario);
  Unexpressed parts = unexpressed(input,
                                  {.dialect = Dialect::deepspeed,
                                   .name = "job",
                                   .settings = written.settings,
                                   .gpus = gpus,
                                   .gpus_from = "the scenario"},
                                  json, written.reasons);
  Launch launch{.extension = ".sh",
                .differs = std::move(parts.differs),
                .refused = std::move(parts.refused),
                .beside_name = "ds_config.json",
                .beside = json};
  const LaunchNodes nodes = launch_nodes(scenario, input.plan);
  launch.text = "#!/bin/bash\n" + heading(input, launch) + environment_lines(input) +
                fmt::format("deepspeed --num_nodes {} --num_gpus {} pretrain_gpt.py \\\n",
                            nodes.nodes, nodes.processes);
  for (const Setting& setting : written.settings)
    launch.text += fmt::format("  {} \\\n", words_of(setting));
  if (scenario.devices.value == 1) launch.text += "  --no-pipeline-parallel \\\n";
  launch.text += "  --deepspeed --deepspeed_config ds_config.json\n";
  return launch;
}

}  // namespace pipewright::jobs::deepspeed
