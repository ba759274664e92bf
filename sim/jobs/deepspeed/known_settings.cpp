#include <array>

#include "sim/jobs/deepspeed/deepspeed.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/request/zero_offload.hpp"

namespace pipewright::jobs::deepspeed {
namespace {

// Keys of DeepSpeed's JSON that are not used, by their dotted names.
constexpr std::array own_rows{
    // Keys without effect
    SettingRow{.reason = "logs and profiles",
               .names = "comms_logger comms_logger. csv_monitor csv_monitor. dump_state "
                        "flops_profiler flops_profiler. memory_breakdown monitor. "
                        "monitor_config. steps_per_print tensorboard tensorboard. wandb wandb. "
                        "comet comet. log_level activation_checkpointing.profile autotuning "
                        "autotuning. zero_optimization.log_trace_cache_warnings"},
    SettingRow{.reason = "learning rate, its schedule, and numbers in the optimizer's update",
               .names = "scheduler scheduler. optimizer.params optimizer.params. "
                        "gradient_clipping zero_allow_untested_optimizer "
                        "zero_force_ds_cpu_optimizer "
                        "zero_optimization.save_muon_momentum_buffer_in_memory"},
    SettingRow{.reason = "scale of the loss and of gradients",
               .names = "fp16. bf16. bfloat16. prescale_gradients gradient_predivide_factor "
                        "gradient_allreduce_op managed_gradient_accumulation"},
    SettingRow{.reason = "checkpoints between iterations, which goodput models",
               .names = "checkpoint checkpoint. nebula nebula. datastates. datastates_ckpt. "
                        "use_node_local_storage zero_optimization.elastic_checkpoint "
                        "zero_optimization.load_from_fp32_weights "
                        "zero_optimization.stage3_gather_16bit_weights_on_model_save "
                        "zero_optimization.gather_16bit_weights_on_model_save "
                        "zero_optimization.stage3_gather_fp16_weights_on_model_save "
                        "zero_optimization.pipeline_loading_checkpoint"},
    SettingRow{.reason = "data, which loads beside training",
               .names = "dataloader_ data_efficiency. curriculum_learning."},
    SettingRow{.reason = "start of processes, and checks of the model",
               .names =
                   "data_parallel_group global_rank zero_optimization.ignore_unused_parameters "
                   "zero_optimization.override_module_apply "
                   "zero_optimization.enable_sanity_checks pipeline.seed_layers"},
    SettingRow{.reason = "numbers of a part of DeepSpeed, which another key turns on",
               .names = "aio. amp. eigenvalue. compression_training. progressive_layer_drop. "
                        "quantize_training. sparse_attention. torch_autocast. hybrid_engine. "
                        "elasticity. weight_quantization. tensor_parallel. tensor_parallel "
                        "expert_parallel. expert_parallel compile. timers. data_types "
                        "activation_checkpointing.number_checkpoints"},
    // Memory that leaves the GPU
    SettingRow{.reason = "how tensors travel to the host, which offload_*.device turns on",
               .names = "zero_optimization.offload_optimizer. zero_optimization.offload_param. "
                        "zero_optimization.cpu_offload_use_pin_memory"},
    SettingRow{Changes::time_and_memory, "optimizer state of chosen gradients would stay behind",
               "zero_optimization.zenflow zero_optimization.zenflow."},
    // Activations
    SettingRow{
        Changes::time_and_memory,
        "inputs of recomputed layers would be divided among the ranks of tp: a tp-th of their "
        "memory, and an all-gather before each recomputation",
        "activation_checkpointing.partition_activations"},
    SettingRow{Changes::time_and_memory, "inputs of recomputed layers would leave the GPU",
               "activation_checkpointing.cpu_checkpointing"},
    SettingRow{Changes::memory, "inputs of recomputed layers would be copied to one buffer",
               "activation_checkpointing.contiguous_memory_optimization"},
    SettingRow{Changes::time, "the host would wait for the GPU at each recomputed layer",
               "activation_checkpointing.synchronize_checkpoint_boundary"},
    SettingRow{Changes::time_and_memory, "layers between the stored activations of a stage",
               "pipeline.activation_checkpoint_interval"},
    // ZeRO
    SettingRow{Changes::time, "gradients reduced, or weights gathered, in another way",
               "zero_optimization.allgather_partitions zero_optimization.reduce_scatter "
               "zero_optimization.use_multi_rank_bucket_allreduce",
               on},
    SettingRow{Changes::time, "gradients reduced, or weights gathered, in another way",
               "zero_optimization.legacy_stage1 zero_optimization.round_robin_gradients "
               "zero_optimization.stage3_use_all_reduce_for_fetch_params "
               "zero_optimization.use_all_reduce_for_fetch_params "
               "zero_optimization.stage3_allgather_sequential "
               "zero_optimization.allgather_sequential disable_allgather "
               "zero_optimization.grad_hooks sparse_gradients"},
    SettingRow{Changes::memory, "gradients would stay where the backward pass writes them",
               "zero_optimization.contiguous_gradients", on},
    SettingRow{Changes::memory, "products would store their inputs once more",
               "zero_optimization.memory_efficient_linear", on},
    SettingRow{Changes::time_and_memory, "elements that are gathered at once",
               "zero_optimization.allgather_bucket_size", "5e8 5e+8 500000000 500_000_000"},
    SettingRow{Changes::time_and_memory, "elements that are gathered before their use",
               "zero_optimization.stage3_prefetch_bucket_size "
               "zero_optimization.prefetch_bucket_size",
               "5e7 5e+7 50000000"},
    SettingRow{Changes::memory, "weights that stay gathered on each GPU",
               "zero_optimization.stage3_max_live_parameters "
               "zero_optimization.stage3_max_reuse_distance "
               "zero_optimization.max_live_parameters zero_optimization.max_reuse_distance",
               "1e9 1e+9 1000000000"},
    SettingRow{Changes::time_and_memory, "small weights that are not divided",
               "zero_optimization.stage3_param_persistence_threshold "
               "zero_optimization.param_persistence_threshold",
               "1e5 1e+5 100000"},
    SettingRow{Changes::memory, "small weights that are not divided",
               "zero_optimization.stage3_model_persistence_threshold "
               "zero_optimization.model_persistence_threshold"},
    SettingRow{Changes::memory, "elements that the optimizer updates at once",
               "zero_optimization.sub_group_size", "1e9 1e+9 1000000000 1e12 1e14"},
    SettingRow{Changes::time, "modules whose weights are gathered together",
               "zero_optimization.stage3_module_granularity_threshold "
               "zero_optimization.module_granularity_threshold zero_optimization.leaf_module "
               "zero_optimization.leaf_module."},
    SettingRow{Changes::time_and_memory,
               "weights divided in groups of GPUs (ZeRO++, MiCS); parallel.shard predicts it",
               "zero_optimization.zero_hpz_partition_size zero_optimization.mics_shard_size",
               "1 -1"},
    SettingRow{Changes::time, "weights or gradients of fewer bits on the wire (ZeRO++)",
               "zero_optimization.zero_quantized_weights "
               "zero_optimization.zero_quantized_nontrainable_weights "
               "zero_optimization.zero_quantized_gradients zero_optimization.zeropp_loco_param "
               "zero_optimization.zeropp_loco_param. "
               "zero_optimization.mics_hierarchical_params_gather"},
    // Data types
    SettingRow{Changes::memory, "main weights, gradients or optimizer state in 16 bits",
               "bf16.bf16_master_weights_and_grads bf16.bf16_optimizer_states "
               "fp16.fp16_master_weights_and_grads"},
    SettingRow{Changes::time_and_memory, "data types by operation, as apex or PyTorch choose them",
               "amp.enabled torch_autocast.enabled"},
    SettingRow{Changes::memory, "data types of weights or buffers", "data_types."},
    SettingRow{Changes::time, "data type of reductions over sequences",
               "seq_parallel_communication_data_type"},
    // Other parts
    SettingRow{Changes::time_and_memory, "an optimizer other than Adam", "optimizer.type",
               "Adam AdamW adam adamw FusedAdam CPUAdam"},
    SettingRow{Changes::time, "Adam in several kernels",
               "optimizer.params.torch_adam "
               "optimizer.legacy_fusion"},
    SettingRow{Changes::time, "the host would wait for the GPU after each pass",
               "wall_clock_breakdown"},
    SettingRow{Changes::time, "layers of the stages; the key partition of a scenario sets them",
               "pipeline.partition pipeline.partition_method", "parameters uniform best"},
    SettingRow{Changes::time, "tensors between stages would not be divided among the ranks of tp",
               "pipeline.pipe_partitioned pipeline.grad_partitioned", on},
    SettingRow{Changes::time, "collectives of tp would overlap with products",
               "tensor_parallel.tp_overlap_comm"},
    SettingRow{Changes::time_and_memory, "experts would be divided among GPUs",
               "expert_parallel.enabled expert_parallel.autoep_size"},
    SettingRow{Changes::time, "order of the ranks", "use_data_before_expert_parallelism"},
    SettingRow{Changes::time_and_memory, "attention to a part of the pairs",
               "sparse_attention.mode sparse_attention"},
    SettingRow{Changes::time, "fewer tokens or layers in a part of training",
               "data_efficiency.data_routing.random_ltd.enabled "
               "data_efficiency.data_sampling.curriculum_learning.enabled "
               "curriculum_learning.enabled progressive_layer_drop.enabled"},
    SettingRow{Changes::time_and_memory, "quantised or pruned layers",
               "compression_training.weight_quantization.shared_parameters.enabled "
               "compression_training.activation_quantization.shared_parameters.enabled "
               "compression_training.sparse_pruning.shared_parameters.enabled "
               "compression_training.row_pruning.shared_parameters.enabled "
               "compression_training.head_pruning.shared_parameters.enabled "
               "compression_training.channel_pruning.shared_parameters.enabled "
               "compression_training.layer_reduction.enabled quantize_training.enabled"},
    SettingRow{Changes::time, "eigenvalues of layers between steps", "eigenvalue.enabled"},
    SettingRow{Changes::time_and_memory, "generation of text between steps",
               "hybrid_engine.enabled"},
    SettingRow{Changes::time_and_memory, "the launcher would choose batch and number of GPUs",
               "elasticity.enabled autotuning.enabled"},
    SettingRow{Changes::time_and_memory, "compiled or captured graphs of the model",
               "compile.deepcompile compile.enabled graph_harvesting compile.offload_activation "
               "compile.offload_opt_states compile.offload_parameters"},
};

}  // namespace

const SettingTable& known_settings() {
  static const SettingTable table({own_rows});
  return table;
}

SettingNames setting_names() {
  SettingNames names = megatron::setting_names();
  names.others = {{"data_types.grad_accum_dtype", "communication.gradient_bytes"},
                  {"communication_data_type", "communication.gradient_bytes"}};
  for (const ConfigAlias& alias : config_aliases())
    names.others.emplace_back(alias.key, alias.flag);
  for (const Flag& flag : zero_offload_flags) names.others.emplace_back(flag.name, flag.key);
  names.unused.insert(names.unused.begin(), &known_settings());
  return names;
}

}  // namespace pipewright::jobs::deepspeed
