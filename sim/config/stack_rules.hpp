#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

// Rules of frameworks: jobs that the software of a stack refuses to start.
namespace pipewright::config {

// Sizes of a job with one schedule, as far as rules depend on them.
struct JobSizes {
  std::uint32_t tp = 1;
  std::uint32_t cp = 1;
  std::uint32_t pp = 1;
  std::uint32_t zero = 0;               // ZeRO level; 0 if there is a single rank to shard over
  std::uint32_t layers = 0;             // of the model; 0 without a model
  std::uint32_t microbatches = 1;       // of a replica
  std::uint32_t stages = 1;             // into which the layers are divided
  std::uint32_t stages_per_device = 1;  // over all routes of the schedule
  // Stage s is on device s mod pp, as in Megatron-LM's interleaved schedule.
  bool is_looped = true;

  bool interleaves() const { return is_looped && stages_per_device > 1; }
};

struct StackRule {
  std::string_view name;
  std::string_view help;    // what the software requires, as a clause
  std::string_view remedy;  // change that satisfies the rule, in the imperative
  // Describes the size that breaks the rule, such as "pp is 1". Empty if the job obeys the rule.
  std::string (*violation)(const JobSizes&);
};

// All rules. A stack's key `rules` names those that its software has.
//
// Sources, with the function or check that refuses the job:
// - interleaving_needs_pp: Megatron-Core, megatron/core/parallel_state.py,
// initialize_model_parallel:
//   "pipeline-model-parallel size should be greater than 1 with interleaved schedule". NeMo 2 and
//   Megatron-Bridge call the same function.
// - interleaving_needs_three_devices: the same check before 31 May 2024, "greater than 2".
// - interleaving_needs_pp_microbatches: megatron/core/pipeline_parallel/schedules.py,
//   forward_backward_pipelining_with_interleaving: the group of microbatches "should range in
//   [PP, M]".
// - interleaving_needs_full_rounds: the same function before November 2024, "number of microbatches
//   is not divisible by pipeline-model-parallel-size when using interleaved schedule"; InternEvo,
//   internlm/core/scheduler/pipeline_scheduler.py, InterleavedPipelineScheduler.
// - no_interleaving: DeepSpeed, deepspeed/runtime/pipe/module.py, PipelineModule cuts the model
// into
//   as many parts as there are devices; nanotron, src/nanotron/parallel/pipeline_parallel/engine.py
//   has engines for one stage on each device only.
// - equal_stages: MaxText, src/maxtext/configs/types.py: stages x repeats x layers of a stage must
//   equal the decoder's layers.
// - no_tp, no_cp, no_pp: Composer's Trainer before 24 May 2024 shards by fsdp_config alone; its
//   tp_config came with version 0.23. InternEvo of March 2024, internlm/initialize/launch.py, has
//   no axis for cp.
// - no_zero_1: torchtitan, torchtitan/distributed/fsdp.py, shards parameters by fully_shard; its
//   policies of resharding are ZeRO-2 and ZeRO-3, as in all of PyTorch's FSDP.
// - no_zero_2: nanotron, src/nanotron/helpers.py and optim/zero.py, shards optimizer state only.
// - no_zero_2_with_pp: DeepSpeed, deepspeed/runtime/pipe/engine.py: "ZeRO-2 and ZeRO-3 are
//   incompatible with pipeline parallelism". Megatron-LM had neither level until November 2024.
// - no_zero_3_with_pp: InternEvo, internlm/initialize/launch.py: "FSDP is not supportted when
//   pipeline size > 1".
inline constexpr std::array stack_rules{
    StackRule{"interleaving_needs_pp", "interleaved stages need a pp of at least 2",
              "use one chunk, or a larger pp",
              [](const JobSizes& job) -> std::string {
                return job.interleaves() && job.pp < 2 ? fmt::format("pp is {}", job.pp) : "";
              }},
    StackRule{"interleaving_needs_three_devices", "interleaved stages need a pp of at least 3",
              "use one chunk, or a larger pp",
              [](const JobSizes& job) -> std::string {
                return job.interleaves() && job.pp < 3 ? fmt::format("pp is {}", job.pp) : "";
              }},
    StackRule{"interleaving_needs_pp_microbatches",
              "interleaved stages need at least as many microbatches as pp",
              "use more microbatches, or one chunk",
              [](const JobSizes& job) -> std::string {
                return job.interleaves() && job.microbatches < job.pp
                           ? fmt::format("pp is {} with {} microbatches", job.pp, job.microbatches)
                           : "";
              }},
    StackRule{"interleaving_needs_full_rounds",
              "interleaved stages need a multiple of pp as the number of microbatches",
              "change the number of microbatches, or use one chunk",
              [](const JobSizes& job) -> std::string {
                return job.interleaves() && job.microbatches % job.pp != 0
                           ? fmt::format("pp is {} with {} microbatches", job.pp, job.microbatches)
                           : "";
              }},
    StackRule{"no_interleaving", "a device has a single stage",
              "use a schedule with one stage on each device",
              [](const JobSizes& job) -> std::string {
                return job.stages_per_device > 1
                           ? fmt::format("this schedule puts {} on each", job.stages_per_device)
                           : "";
              }},
    StackRule{"equal_stages", "the layers are a multiple of the stages",
              "use another pp or number of chunks",
              [](const JobSizes& job) -> std::string {
                return job.layers % job.stages != 0
                           ? fmt::format("there are {} layers for {} stages", job.layers,
                                         job.stages)
                           : "";
              }},
    StackRule{"no_tp", "there is no tensor parallelism", "set parallel.tp to 1",
              [](const JobSizes& job) -> std::string {
                return job.tp > 1 ? fmt::format("tp is {}", job.tp) : "";
              }},
    StackRule{"no_cp", "there is no context parallelism", "set parallel.cp to 1",
              [](const JobSizes& job) -> std::string {
                return job.cp > 1 ? fmt::format("cp is {}", job.cp) : "";
              }},
    StackRule{"no_pp", "there is no pipeline parallelism", "set parallel.pp to 1",
              [](const JobSizes& job) -> std::string {
                return job.pp > 1 ? fmt::format("pp is {}", job.pp) : "";
              }},
    StackRule{"no_zero_1", "optimizer state is not sharded alone",
              "set parallel.zero to 3, to 2 or, for replicas, to 0",
              [](const JobSizes& job) -> std::string {
                return job.zero == 1 ? "parallel.zero is 1" : "";
              }},
    StackRule{"no_zero_2", "only optimizer state is sharded", "set parallel.zero to 0 or 1",
              [](const JobSizes& job) -> std::string {
                return job.zero > 1 ? fmt::format("parallel.zero is {}", job.zero) : "";
              }},
    StackRule{"no_zero_2_with_pp", "a pipeline shards at most optimizer state",
              "set parallel.zero to 0 or 1, or parallel.pp to 1",
              [](const JobSizes& job) -> std::string {
                return job.pp > 1 && job.zero > 1
                           ? fmt::format("pp is {} with parallel.zero {}", job.pp, job.zero)
                           : "";
              }},
    StackRule{"no_zero_3_with_pp", "a pipeline does not shard weights",
              "set parallel.zero to 0 or 1, or parallel.pp to 1",
              [](const JobSizes& job) -> std::string {
                return job.pp > 1 && job.zero > 2
                           ? fmt::format("pp is {} with parallel.zero {}", job.pp, job.zero)
                           : "";
              }},
};

inline constexpr auto stack_rule_names = [] {
  std::array<std::string_view, stack_rules.size()> names;
  for (std::size_t rule = 0; rule < names.size(); ++rule) names[rule] = stack_rules[rule].name;
  return names;
}();

}  // namespace pipewright::config
