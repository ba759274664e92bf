#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/cuda_graphs.hpp"
#include "sim/config/recompute.hpp"

// Rules of frameworks: jobs that the software of a stack refuses to start.
namespace pipewright::config {

// Sizes and options of a job with one schedule, as far as rules depend on them.
struct JobSizes {
  std::uint32_t tp = 1;
  std::uint32_t cp = 1;
  std::uint32_t pp = 1;
  std::uint32_t ep = 1;                 // 1 without experts
  std::uint32_t etp = 1;                // tensor parallelism of experts
  std::uint32_t shards = 1;             // ranks of dp that shard weights or optimizer state
  std::uint32_t zero = 0;               // ZeRO level; 0 if there is a single rank to shard over
  std::uint32_t gtp = 1;                // the larger of parallel.gtp and parallel.expert_gtp
  std::uint32_t layers = 0;             // layers of the model; 0 without a model
  std::uint32_t microbatches = 1;       // microbatches of a replica
  std::uint32_t stages = 1;             // into which the layers are divided
  std::uint32_t stages_per_device = 1;  // over all routes of the schedule
  std::uint32_t group_size = 0;  // microbatches that pass a chunk before the next one's turn; 0: pp
  // Stage s is on device s mod pp, as in Megatron-LM's interleaved schedule.
  bool is_looped = true;
  // Name in the catalogue of schedules. Empty: a file, a searched order, or not known yet.
  std::string_view schedule;
  bool takes_chunks = false;  // the schedule is for several stages on each device
  bool ties_embeddings = false;
  bool has_experts = false;
  bool pads_experts = false;      // experts drop tokens and pad their buffers to a capacity
  bool overlaps_experts = false;  // dispatch overlaps compute of another microbatch
  bool offloads = false;          // activations move to host memory
  bool shards_sequence = false;   // sequence parallelism over the ranks of tp
  bool blocks_transfers = false;  // devices do not compute while they exchange boundary tensors
  bool shards_copies = false;     // copies of a shard divide the optimizer state
  bool scales_attention = false;  // attention computes in a scaled data type
  bool gathers_early = false;     // weights are gathered beside forward passes
  bool reduces_early = false;     // gradients are reduced beside backward passes
  // State of the optimizer or sums of gradients have fewer than 32 bits, or the CPU updates
  // parameters, and the state is not sharded.
  bool copies_small_states = false;
  CudaGraphs graphs;
  Recompute recompute;

  bool interleaves() const { return is_looped && stages_per_device > 1; }
  // Returns whether graphs capture layers or their modules, one by one.
  bool has_layer_graphs() const {
    return graphs.scope == CudaGraphs::Scope::layer || graphs.scope == CudaGraphs::Scope::modules;
  }
  bool recomputes_layers() const { return recompute.granularity == Recompute::Granularity::full; }
  bool recomputes_experts() const {
    return recompute.granularity == Recompute::Granularity::selective &&
           recompute.has(RecomputeModule::moe);
  }
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
//   initialize_model_parallel: "pipeline-model-parallel size should be greater than 1 with
//   interleaved schedule". NeMo 2 and Megatron-Bridge call the same function. torchtitan/trainer.py
//   builds no pipeline with pp 1, so that all stages are one.
// - interleaving_needs_three_devices: the same check before 31 May 2024, "greater than 2".
// - interleaving_needs_pp_microbatches: megatron/core/pipeline_parallel/schedules.py,
//   forward_backward_pipelining_with_interleaving: the group of microbatches "should range in
//   [PP, M]".
// - interleaving_needs_full_last_group: the same function: the last group of microbatches has none,
//   or at least pp.
// - interleaving_needs_full_rounds: the same function before November 2024, "number of microbatches
//   is not divisible by pipeline-model-parallel-size when using interleaved schedule"; InternEvo,
//   internlm/core/scheduler/pipeline_scheduler.py, InterleavedPipelineScheduler.
// - no_interleaving: DeepSpeed, deepspeed/runtime/pipe/module.py, PipelineModule cuts the model
//   into as many parts as there are devices; nanotron,
//   src/nanotron/parallel/pipeline_parallel/engine.py has engines for one stage on each device
//   only.
// - equal_stages: MaxText, src/maxtext/configs/types.py: stages x repeats x layers of a stage must
//   equal the decoder's layers.
// - no_tp, no_cp, no_pp: Composer's Trainer before 24 May 2024 shards by fsdp_config alone; its
//   tp_config came with version 0.23. InternEvo of March 2024, internlm/initialize/launch.py, has
//   no axis for cp.
// - no_gtp: Megatron-LM has generalized tensor parallelism since 25 July 2026
//   (--tensor-parallel-num-weight-shards of megatron/training/arguments.py); torchtitan, DeepSpeed,
//   PyTorch and MaxText have nothing like it.
// - no_outer_sharding: Megatron-FSDP divides the optimizer state among the copies of a shard
//   (--outer-dp-sharding-strategy of the same file). PyTorch's fully_shard replicates it over the
//   outer dimension of its mesh (torch/distributed/fsdp/_fully_shard/_fully_shard.py), and
//   DeepSpeed's MiCS over its replicas (deepspeed/runtime/zero/mics.py).
// - no_fp8_attention: Transformer Engine alone has attention in FP8 (fp8_dpa of its recipes).
//   PyTorch's scaled_dot_product_attention and FlashAttention 2 compute in 16 bits.
// - no_zero_1: torchtitan, torchtitan/distributed/fsdp.py, shards parameters by fully_shard; its
//   policies of resharding are ZeRO-2 and ZeRO-3, as in all of PyTorch's FSDP.
// - no_zero_2: nanotron, src/nanotron/helpers.py and optim/zero.py, shards optimizer state only.
// - no_zero_2_with_pp: DeepSpeed, deepspeed/runtime/pipe/engine.py: "ZeRO-2 and ZeRO-3 are
//   incompatible with pipeline parallelism". Megatron-LM had neither level until November 2024.
// - no_zero_3_with_pp: InternEvo, internlm/initialize/launch.py: "FSDP is not supportted when
//   pipeline size > 1".
// - no_zero_3_with_experts: the same file: "FSDP does not support num_experts > 1".
// - interleaving_needs_two_chunks: torchtitan, torchtitan/distributed/pipeline_parallel.py:
//   "Multi-stage schedule requires at least 2 stages per rank".
// - interleaving_needs_equal_rounds: PyTorch, torch/distributed/pipelining/schedules.py,
//   ScheduleInterleaved1F1B and ScheduleInterleavedZeroBubble: "requires the number of microbatches
//   to be a multiple of the number of rounds", which is microbatches / pp rounded down.
// - 1f1b_needs_pp_microbatches: the same file, Schedule1F1B: "Number of microbatches must be
//   greater than or equal to the number of stages".
// - 1f1b_needs_warm_up: nanotron, src/nanotron/parallel/pipeline_parallel/engine.py,
//   OneForwardOneBackwardPipelineEngine: "must be at least PP_SIZE-1".
// - pipeline_needs_full_rounds: MaxText, src/maxtext/configs/types.py: num_pipeline_microbatches
//   "must be divisible by the number of stages".
// - no_tied_embeddings_with_pp: torchtitan, torchtitan/models/common/decoder.py: "Weight tying is
//   not supported with Pipeline Parallel".
// - ep_takes_shards: torchtitan, torchtitan/distributed/parallel_dims.py, _validate: "EP would
// borrow
//   all cp and some dp_shard degree", and with etp 1 "all cp and tp".
// - no_graphs: nanotron, InternEvo and Megatron-LM before 2023 have no code for CUDA graphs.
// - no_graphs_with_pp: torchtitan, torchtitan/trainer.py: "CUDA graphs do not support pipeline
//   parallelism yet".
// - no_layer_graphs_with_full_recompute, no_layer_graphs_with_offload,
//   no_moe_graph_without_padding, no_router_graph_with_moe_recompute: Megatron-Core,
//   megatron/core/transformer/transformer_config.py: "full recompute is only supported with full
//   iteration CUDA graph", "CUDA graphs not supported with CPU offloading", "moe cuda graph is only
//   supported with drop-padding MoE", "moe recompute is not supported with moe_router CUDA graph".
// - no_expert_overlap_with_moe_recompute, no_expert_overlap_with_mlp_graphs,
//   expert_overlap_needs_interleaving: the same file, where overlap_moe_expert_parallel_comm is
//   checked.
// - experts_with_tp_need_sp: megatron/core/transformer/moe/moe_layer.py, MoELayer.forward, refuses
//   tensor parallelism without sequence parallelism in training.
// - no_blocking_interleaving_with_pp_2: megatron/training/arguments.py: "When interleaved schedule
//   is used and p2p communication overlap is disabled, pipeline-model-parallel size should be
//   greater than 2".
// - gather_overlap_needs_reduce_overlap: the same file: "Must use --overlap-param-gather with
//   --overlap-grad-reduce".
// - small_states_need_zero: the same file: "--use-precision-aware-optimizer only supported with
//   distributed optimizer".
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
    StackRule{"interleaving_needs_full_last_group",
              "interleaved stages need a last group of microbatches with at least pp, or none",
              "use a multiple of pp as the number of microbatches, or one chunk",
              [](const JobSizes& job) -> std::string {
                const std::uint32_t group = job.group_size > 0 ? job.group_size : job.pp;
                const std::uint32_t rest = job.microbatches % group;
                return job.interleaves() && job.microbatches >= job.pp && rest > 0 && rest < job.pp
                           ? fmt::format("{} of {} microbatches remain with pp {}", rest,
                                         job.microbatches, job.pp)
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
    StackRule{"no_gtp", "there is no generalized tensor parallelism",
              "leave out parallel.gtp and parallel.expert_gtp, or use parallel.shard",
              [](const JobSizes& job) -> std::string {
                return job.gtp > 1 ? fmt::format("gtp is {}", job.gtp) : "";
              }},
    StackRule{"no_outer_sharding", "copies of a shard have the same optimizer state",
              "leave out parallel.outer_sharding",
              [](const JobSizes& job) -> std::string {
                return job.shards_copies ? "parallel.outer_sharding is optimizer" : "";
              }},
    StackRule{"no_fp8_attention", "attention computes in 16 bits",
              "leave out training.precision.attention",
              [](const JobSizes& job) -> std::string {
                return job.scales_attention ? "training.precision.attention has 8 bits" : "";
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
    StackRule{"no_zero_3_with_experts", "weights of mixtures of experts are not sharded",
              "set parallel.zero to 0 or 1",
              [](const JobSizes& job) -> std::string {
                return job.has_experts && job.zero > 2
                           ? fmt::format("parallel.zero is {}", job.zero)
                           : "";
              }},
    StackRule{"interleaving_needs_two_chunks", "schedules with chunks have at least two",
              "use two chunks or more, or a schedule with one stage on each device",
              [](const JobSizes& job) -> std::string {
                return job.takes_chunks && job.stages_per_device < 2 ? "this schedule has one" : "";
              }},
    StackRule{
        "interleaving_needs_equal_rounds",
        "interleaved stages need a multiple of the rounds, which are microbatches / pp rounded "
        "down, as the number of microbatches",
        "change the number of microbatches, or use one chunk",
        [](const JobSizes& job) -> std::string {
          const bool has_rounds =
              job.schedule == "interleaved-1f1b" || job.schedule == "interleaved-zb";
          const std::uint32_t rounds = std::max(job.microbatches / job.pp, 1U);
          return has_rounds && job.microbatches % rounds != 0
                     ? fmt::format("pp is {} with {} microbatches", job.pp, job.microbatches)
                     : "";
        }},
    StackRule{"1f1b_needs_pp_microbatches", "1f1b needs at least as many microbatches as pp",
              "use more microbatches, or another schedule",
              [](const JobSizes& job) -> std::string {
                return job.schedule == "1f1b" && job.microbatches < job.pp
                           ? fmt::format("pp is {} with {} microbatches", job.pp, job.microbatches)
                           : "";
              }},
    StackRule{"1f1b_needs_warm_up", "1f1b needs at least pp - 1 microbatches",
              "use more microbatches, or another schedule",
              [](const JobSizes& job) -> std::string {
                return job.schedule == "1f1b" && job.microbatches + 1 < job.pp
                           ? fmt::format("pp is {} with {} microbatches", job.pp, job.microbatches)
                           : "";
              }},
    StackRule{"pipeline_needs_full_rounds",
              "a pipeline needs a multiple of pp as the number of microbatches",
              "change the number of microbatches, or pp",
              [](const JobSizes& job) -> std::string {
                return job.microbatches % job.pp != 0
                           ? fmt::format("pp is {} with {} microbatches", job.pp, job.microbatches)
                           : "";
              }},
    StackRule{"no_tied_embeddings_with_pp", "a pipeline has no tied embeddings",
              "set parallel.pp to 1, or model.tied_embeddings to false",
              [](const JobSizes& job) -> std::string {
                return job.ties_embeddings && job.pp > 1
                           ? fmt::format("pp is {} with model.tied_embeddings", job.pp)
                           : "";
              }},
    StackRule{
        "ep_takes_shards",
        "ep divides cp x shards of dp, times tp with etp 1, and is a multiple of cp, or cp x tp",
        "set parallel.ep to such a size, or parallel.zero to 3",
        [](const JobSizes& job) -> std::string {
          const std::uint32_t taken = job.etp == job.tp ? job.cp : job.cp * job.tp;
          const bool is_whole = job.ep % taken == 0 && taken * job.shards % job.ep == 0;
          return job.ep > 1 && !is_whole ? fmt::format("ep is {} with tp {}, cp {} and shards {}",
                                                       job.ep, job.tp, job.cp, job.shards)
                                         : "";
        }},
    StackRule{"no_graphs", "there are no CUDA graphs", "set training.cuda_graphs to none",
              [](const JobSizes& job) -> std::string {
                return job.graphs.scope != CudaGraphs::Scope::none
                           ? fmt::format("training.cuda_graphs is {}", to_string(job.graphs))
                           : "";
              }},
    StackRule{"no_graphs_with_pp", "a pipeline has no CUDA graphs",
              "set training.cuda_graphs to none, or parallel.pp to 1",
              [](const JobSizes& job) -> std::string {
                return job.graphs.scope != CudaGraphs::Scope::none && job.pp > 1
                           ? fmt::format("pp is {} with training.cuda_graphs {}", job.pp,
                                         to_string(job.graphs))
                           : "";
              }},
    StackRule{"no_layer_graphs_with_full_recompute",
              "graphs of layers or modules exclude full recomputation",
              "set training.cuda_graphs to iteration or none, or recompute modules",
              [](const JobSizes& job) -> std::string {
                return job.has_layer_graphs() && job.recomputes_layers()
                           ? fmt::format("training.cuda_graphs is {}", to_string(job.graphs))
                           : "";
              }},
    StackRule{"no_layer_graphs_with_offload", "graphs of layers or modules exclude offloading",
              "set training.cuda_graphs to iteration or none, or leave out training.offload",
              [](const JobSizes& job) -> std::string {
                return job.has_layer_graphs() && job.offloads
                           ? fmt::format("training.cuda_graphs is {}", to_string(job.graphs))
                           : "";
              }},
    StackRule{"no_moe_graph_without_padding",
              "a graph of moe needs experts that drop tokens and pad their buffers",
              "capture moe_router and moe_preprocess instead, or set model.experts.capacity_factor",
              [](const JobSizes& job) -> std::string {
                return job.graphs.has(GraphModule::moe) && !job.pads_experts
                           ? "model.experts.capacity_factor is not set"
                           : "";
              }},
    StackRule{"no_router_graph_with_moe_recompute",
              "a graph of moe_router excludes recomputation of moe",
              "leave moe out of training.recompute, or moe_router out of training.cuda_graphs",
              [](const JobSizes& job) -> std::string {
                return job.graphs.has(GraphModule::moe_router) && job.recomputes_experts()
                           ? "training.recompute has moe"
                           : "";
              }},
    StackRule{"no_expert_overlap_with_moe_recompute",
              "training.experts.overlap excludes recomputation of moe",
              "leave moe out of training.recompute",
              [](const JobSizes& job) -> std::string {
                return job.overlaps_experts && (job.recomputes_experts() || job.recomputes_layers())
                           ? fmt::format("training.recompute is {}", to_string(job.recompute))
                           : "";
              }},
    StackRule{"no_expert_overlap_with_mlp_graphs",
              "training.experts.overlap excludes graphs of mlp and moe",
              "leave mlp and moe out of training.cuda_graphs",
              [](const JobSizes& job) -> std::string {
                const bool captures =
                    job.graphs.has(GraphModule::mlp) || job.graphs.has(GraphModule::moe);
                return job.overlaps_experts && captures
                           ? fmt::format("training.cuda_graphs is {}", to_string(job.graphs))
                           : "";
              }},
    StackRule{"expert_overlap_needs_interleaving",
              "training.experts.overlap in a pipeline needs interleaved stages",
              "use two chunks or more, parallel.pp 1, or leave out training.experts.overlap",
              [](const JobSizes& job) -> std::string {
                return job.overlaps_experts && job.pp > 1 && !job.schedule.empty() &&
                               job.stages_per_device < 2
                           ? fmt::format("pp is {} with one stage on each device", job.pp)
                           : "";
              }},
    StackRule{"experts_with_tp_need_sp", "experts with tp need sequence parallelism",
              "set parallel.sp to true, or parallel.tp to 1",
              [](const JobSizes& job) -> std::string {
                return job.has_experts && job.tp > 1 && !job.shards_sequence
                           ? fmt::format("tp is {} without parallel.sp", job.tp)
                           : "";
              }},
    StackRule{"no_blocking_interleaving_with_pp_2",
              "interleaved stages without overlapped transfers need a pp of at least 3",
              "set communication.overlap_p2p to true, or use a larger pp",
              [](const JobSizes& job) -> std::string {
                return job.interleaves() && job.blocks_transfers && job.pp < 3
                           ? fmt::format("pp is {} with blocking transfers", job.pp)
                           : "";
              }},
    StackRule{"gather_overlap_needs_reduce_overlap",
              "communication.overlap_param_gather needs communication.overlap_grad_reduce",
              "set both to the same value",
              [](const JobSizes& job) -> std::string {
                return job.gathers_early && !job.reduces_early
                           ? "communication.overlap_grad_reduce is false"
                           : "";
              }},
    StackRule{"small_states_need_zero",
              "state of the optimizer below 32 bits, or on the CPU, needs a sharded optimizer",
              "set parallel.zero to 1, or training.optimizer to fp32",
              [](const JobSizes& job) -> std::string {
                return job.copies_small_states ? "parallel.zero is 0" : "";
              }},
};

inline constexpr auto stack_rule_names = [] {
  std::array<std::string_view, stack_rules.size()> names;
  for (std::size_t rule = 0; rule < names.size(); ++rule) names[rule] = stack_rules[rule].name;
  return names;
}();

}  // namespace pipewright::config
