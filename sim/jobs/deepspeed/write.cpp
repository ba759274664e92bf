#include "sim/jobs/megatron/write.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/jobs/deepspeed/deepspeed.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/differences.hpp"

namespace pipewright::jobs::deepspeed {
namespace {

// What ZeRO of DeepSpeed says in Megatron-LM's place, or only Megatron-LM has.
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
                              "cp_comm_type"};

std::string json_of(const config::Scenario& scenario) {
  const std::uint64_t micro = scenario.training.microbatch_size;
  const std::uint64_t steps = scenario.microbatches.value;
  const bool is_fp16 = scenario.training.precision == config::DataType::fp16;
  return fmt::format(
      "{{\n"
      "  \"train_batch_size\": {},\n"
      "  \"train_micro_batch_size_per_gpu\": {},\n"
      "  \"gradient_accumulation_steps\": {},\n"
      "  \"zero_optimization\": {{\"stage\": {}, \"overlap_comm\": {}}},\n"
      "  \"{}\": {{\"enabled\": true}},\n"
      "  \"data_types\": {{\"grad_accum_dtype\": \"{}\"}}\n"
      "}}\n",
      micro * steps * scenario.parallel.dp.value, micro, steps, scenario.parallel.zero,
      scenario.communication.overlap_grad_reduce ? "true" : "false", is_fp16 ? "fp16" : "bf16",
      scenario.communication.gradient_bytes == 2 ? "bf16" : "fp32");
}

}  // namespace

Launch write(const config::Scenario& scenario, std::uint64_t gpus_per_node) {
  megatron::Written written = megatron::write(scenario, true);
  const config::Parallel& parallel = scenario.parallel;
  const auto cannot = [&](std::string sentence) { written.cannot.push_back(std::move(sentence)); };
  std::erase_if(written.settings, [](const Setting& one) {
    return std::ranges::find(left_out, std::string_view(one.name)) != left_out.end();
  });
  for (Setting& one : written.settings)
    if (one.name == "num_query_groups") one.name = "num_key_value_heads";
  if (parallel.cp.value > 1) {
    written.settings.push_back(
        {.name = "ds_sequence_parallel_size", .values = {fmt::format("{}", parallel.cp.value)}});
    if (parallel.cp_comm != config::ContextComm::a2a)
      cannot("DeepSpeed's sequence parallelism exchanges heads (parallel.cp_comm_type: a2a)");
  }
  if (scenario.model->value.experts)
    cannot("DeepSpeed's experts are layers of its own (deepspeed.moe), by flags of the script");
  if (scenario.schedules.front().name != "1f1b" && scenario.devices.value > 1)
    cannot(
        fmt::format("DeepSpeed's pipeline runs 1f1b, and not {}", scenario.schedules.front().name));
  if (parallel.zero > 1 && scenario.devices.value > 1)
    cannot("ZeRO-2 and ZeRO-3 are incompatible with DeepSpeed's pipeline parallelism");
  const std::string json = json_of(scenario);
  Request request{.framework = Framework::deepspeed,
                  .name = "job",
                  .settings = written.settings,
                  .gpus = parallel.ranks_of_stage() * scenario.devices.value,
                  .gpus_from = "the scenario"};
  try {
    read_config({"ds_config.json", json}, request);
    settle(request);
    const Job job = megatron::read(request);
    for (std::string& one : differences(scenario, config::read_scenario(job.tree)))
      written.cannot.push_back(std::move(one));
  } catch (const config::Error& refused) {
    cannot(fmt::format("DeepSpeed would refuse it: {}", refused.what()));
  }
  Launch launch{.extension = ".sh", .differs = std::move(written.cannot)};
  launch.beside_name = "ds_config.json";
  launch.beside = json;
  const std::uint64_t gpus = *request.gpus;
  const std::uint64_t each = std::min(gpus, std::max<std::uint64_t>(gpus_per_node, 1));
  launch.text = "#!/bin/bash\n" + heading(scenario, Framework::deepspeed, launch.differs) +
                fmt::format("deepspeed --num_nodes {} --num_gpus {} pretrain_gpt.py \\\n",
                            (gpus + each - 1) / each, each);
  for (const Setting& one : written.settings)
    launch.text += fmt::format("  {} \\\n", words_of(one));
  if (scenario.devices.value == 1) launch.text += "  --no-pipeline-parallel \\\n";
  launch.text += "  --deepspeed --deepspeed_config ds_config.json\n";
  return launch;
}

}  // namespace pipewright::jobs::deepspeed
