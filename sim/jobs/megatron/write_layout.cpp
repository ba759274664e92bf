#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/rules.hpp"
#include "sim/jobs/request/stage_layers.hpp"

namespace pipewright::jobs::megatron {
namespace {

using config::Scenario;

std::uint64_t chunk_count(const Scenario& scenario) {
  const config::ScheduleSpec& spec = scenario.schedules.front();
  const auto& chunks = spec[&schedules::Parameters::chunks];
  return chunks ? chunks->value : 1;
}

std::uint64_t stage_count(const Scenario& scenario) {
  return std::uint64_t{scenario.devices.value} * chunk_count(scenario);
}

// Writes a layout: the layers of each stage as the letters E, t, m, L.
void write_layout(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const std::vector<std::uint32_t> layers = layers_of_stages(writer);
  std::string layout = "E";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) layout += "|";
    if (layers[i] == 1) layout += "t";
    if (layers[i] > 1) layout += fmt::format("t*{}", layers[i]);
  }
  if (const std::uint32_t modules = scenario.model->value.mtp_layers; modules > 0)
    layout += modules == 1 ? "m" : fmt::format("m*{}", modules);
  writer.add("pipeline_model_parallel_layout", layout + "L");
}

// Writes what Megatron-FSDP shards over outer ranks, and how far ahead it gathers weights.
void write_hybrid_fsdp(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const config::Parallel& parallel = scenario.parallel;
  if (parallel.shards_optimizer_over_copies()) writer.add("outer_dp_sharding_strategy", "optim");
  const auto& ahead = parallel.gather_ahead;
  if (parallel.zero < 3 || ahead == scenario.training.stack.gather_ahead) return;
  if (ahead.value_or(1) == 1)
    writer.add("fsdp_double_buffer");
  else
    writer.add("suggested_communication_unit_size", std::uint64_t{2} * *ahead);
}

}  // namespace

std::vector<std::uint32_t> layers_of_stages(const SettingsWriter& writer) {
  return planned_stage_layers(writer.scenario(), writer.plan(), stage_count(writer.scenario()));
}

bool needs_layout(const SettingsWriter& writer) {
  using Rule = config::Partition::Rule;
  const Scenario& scenario = writer.scenario();
  const config::Partition& partition = scenario.partition;
  const std::uint64_t layers = scenario.model->value.layers;
  const std::uint64_t stages = stage_count(scenario);
  if (stages == 1) return false;
  switch (partition.rule) {
    case Rule::listed:
      return true;
    case Rule::even:
      return layers % stages != 0;
    case Rule::ends_less:
      return (layers + (partition.embedding_counts ? 1 : 0) + (partition.loss_counts ? 1 : 0)) %
                 stages !=
             0;
    case Rule::by_cost:
    case Rule::by_weights: {
      const std::vector<std::uint32_t> planned = layers_of_stages(writer);
      return std::ranges::adjacent_find(planned, std::ranges::not_equal_to()) != planned.end();
    }
    case Rule::layout:
    case Rule::ends:
      break;
  }
  return false;
}

void write_parallel(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const config::Parallel& parallel = scenario.parallel;
  // No updated weights are gathered without a distributed optimizer.
  const bool has_whole_optimizer =
      parallel.zero == 0 || (parallel.gtp && !parallel.shards_optimizer_over_copies());
  if (has_whole_optimizer) writer.remove({"overlap_param_gather"});
  if (parallel.sequence && parallel.tp.value > 1) writer.add("sequence_parallel");
  constexpr std::array<std::string_view, 4> strategies{"no_shard", "optim", "optim_grads",
                                                       "optim_grads_params"};
  if (parallel.zero == 0 && !writer.writes_arguments())
    writer.add("use_distributed_optimizer", "false");
  if (parallel.gtp) {
    if (parallel.shards_optimizer_over_copies())
      writer.add("use_distributed_optimizer");
    else if (!writer.writes_arguments())
      writer.add("use_distributed_optimizer", "false");
    writer.add("tensor_parallel_num_weight_shards", parallel.tp.value * parallel.gtp->value);
    if (parallel.expert_gtp->value > 1)
      writer.add("expert_tensor_parallel_num_weight_shards",
                 parallel.expert_tp() * parallel.expert_gtp->value);
  } else if (parallel.zero == 1) {
    writer.add("use_distributed_optimizer");
  } else if (parallel.zero > 1) {
    writer.add("use_megatron_fsdp");
    writer.add("data_parallel_sharding_strategy", strategies.at(parallel.zero));
    if (scenario.devices.value > 1)
      writer.cannot("", "Megatron-FSDP with pipeline parallelism is untested here");
    write_hybrid_fsdp(writer);
  }
  if (!parallel.gtp && parallel.zero > 0 && parallel.replicates() > 1)
    writer.add("num_distributed_optimizer_instances", parallel.replicates());
  using config::Axis;
  constexpr std::array usual{Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};
  constexpr std::array pipeline_first{Axis::tp, Axis::cp, Axis::ep, Axis::pp, Axis::dp};
  if (parallel.order == pipeline_first)
    writer.add("use_tp_pp_dp_mapping");
  else if (parallel.order != usual)
    writer.cannot("parallel.order",
                  "Megatron-LM orders ranks as tp-cp-ep-dp-pp, or with --use-tp-pp-dp-mapping as "
                  "tp-cp-ep-pp-dp");
  if (!parallel.cp_sizes.empty()) {
    Setting sizes{.name = "hierarchical_context_parallel_sizes"};
    for (const auto& size : parallel.cp_sizes)
      sizes.values.push_back(fmt::format("{}", size.value));
    writer.settings.push_back(std::move(sizes));
  }
  if (parallel.cuts_vocabulary())
    writer.cannot("parallel.vocab_parallel",
                  "only a fork cuts the vocabulary over the pipeline "
                  "(--enable-vocab-parallel of sail-sg/VocabularyParallelism)");
}

void write_schedule(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  const config::ScheduleSpec& spec = scenario.schedules.front();
  const std::uint32_t pp = scenario.devices.value;
  if (spec.name == "interleaved-1f1b") {
    if (scenario.partition.rule != config::Partition::Rule::layout && !needs_layout(writer))
      writer.add("num_virtual_stages_per_pipeline_rank", chunk_count(scenario));
    if (const auto& group = spec[&schedules::Parameters::group_size])
      writer.add("microbatch_group_size_per_virtual_pipeline_stage", group->value);
    if (scenario.p2p == config::P2p::blocking) writer.add("no_overlap_p2p_communication");
    if (scenario.p2p == config::P2p::eager) writer.add("overlap_p2p_communication_warmup_flush");
    if (scenario.p2p == config::P2p::rendezvous)
      writer.cannot("p2p", "Megatron-LM posts receives before it needs the tensors (p2p: eager)");
  } else if (spec.name != "1f1b" && pp > 1) {
    writer.cannot("schedule.name",
                  fmt::format("Megatron-LM has no schedule {}; it runs 1f1b, or interleaved-1f1b",
                              spec.name));
  } else if (pp > 1 && scenario.p2p != config::P2p::blocking) {
    writer.cannot("p2p", "Megatron-LM's 1f1b does not compute during a transfer (p2p: blocking)");
  }
}

void write_partition(SettingsWriter& writer) {
  const Scenario& scenario = writer.scenario();
  using Rule = config::Partition::Rule;
  const config::Partition& partition = scenario.partition;
  if (stage_count(scenario) == 1) return;
  if (partition.rule == Rule::layout) {
    writer.add("pipeline_model_parallel_layout", partition.text);
  } else if (partition.rule != Rule::ends && layers_of_stages(writer).empty()) {
    writer.cannot("partition",
                  fmt::format("Megatron-LM has no rule like partition {}; write the layers of the "
                              "stages as a list, which 'pipewright layout' prints",
                              config::to_string(partition)));
  } else if (needs_layout(writer) && scenario.model->value.pattern.empty()) {
    write_layout(writer);
  } else if (partition.rule == Rule::ends_less) {
    for (const auto& [flag, is_on] :
         {std::pair{"account_for_embedding_in_pipeline_split", partition.embedding_counts},
          {"account_for_loss_in_pipeline_split", partition.loss_counts}})
      if (is_on && !writer.has(flag)) writer.add(flag);
  }
}

}  // namespace pipewright::jobs::megatron
