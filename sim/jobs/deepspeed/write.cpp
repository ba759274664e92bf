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

// Flags of Megatron-LM that DeepSpeed lacks, or for which its JSON has settings.
constexpr std::array left_out{"use_distributed_optimizer",
                              "use_megatron_fsdp",
                              "data_parallel_sharding_strategy",
                              "overlap_param_gather",
                              "overlap_grad_reduce",
                              "grad_reduce_in_bf16",
                              "ddp_bucket_size",
                              "cross_entropy_loss_fusion",
                              "group_query_attention",
                              "num_virtual_stages_per_pipeline_rank",
                              "pipeline_model_parallel_layout",
                              "context_parallel_size",
                              "hierarchical_context_parallel_sizes",
                              "cp_comm_type",
                              "use_precision_aware_optimizer",
                              "optimizer_cpu_offload",
                              "optimizer_offload_fraction",
                              "overlap_cpu_optimizer_d2h_h2d"};

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

// How the script and its configuration differ from the scenario.
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
  return {sentences_of(reasons, differences), refusal_of(input, refused)};
}

}  // namespace

Launch write(const LaunchInput& launch_input) {
  // The script gives the shape of the model by Megatron-LM's flags.
  LaunchInput input = launch_input;
  input.stack = megatron::older_stack;
  const config::Scenario& scenario = input.scenario;
  megatron::Written written = megatron::write(scenario, input.plan, true);
  const config::Parallel& parallel = scenario.parallel;
  const auto cannot = [&](std::string_view key, std::string sentence) {
    written.reasons.push_back({std::string(key), std::move(sentence)});
  };
  std::erase_if(written.settings, [](const Setting& setting) {
    return std::ranges::find(left_out, std::string_view(setting.name)) != left_out.end() ||
           (setting.name == "attention_backend" && setting.values.front() != "unfused");
  });
  for (Setting& setting : written.settings)
    if (setting.name == "num_query_groups") setting.name = "num_key_value_heads";
  if (scenario.training.flash_attention) written.settings.push_back({.name = "use_flash_attn_v2"});
  if (parallel.cp.value > 1) {
    written.settings.push_back(
        {.name = "ds_sequence_parallel_size", .values = {fmt::format("{}", parallel.cp.value)}});
    if (parallel.cp_comm != config::ContextComm::a2a)
      cannot("parallel.cp_comm_type",
             "DeepSpeed's sequence parallelism exchanges heads (parallel.cp_comm_type: a2a)");
  }
  if (scenario.model->value.experts)
    cannot("", "DeepSpeed has its own layers of experts (deepspeed.moe), with flags of the script");
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
                .differs = std::move(parts.sentences),
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
