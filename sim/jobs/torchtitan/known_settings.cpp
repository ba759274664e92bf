#include <array>

#include "sim/jobs/torchtitan/torchtitan.hpp"

namespace pipewright::jobs::torchtitan {
namespace {

// Settings that are not used, by their dotted names, of torchtitan's configuration from 2024 on.
constexpr std::array own_rows{
    // Settings without effect
    SettingRow{.reason = "learning rate, its schedule, and numbers in the optimizer's update",
               .names = "lr_scheduler. optimizer.lr optimizer.lr_ optimizer.min_lr_ optimizer.beta "
                        "optimizer.beta1 optimizer.beta2 optimizer.eps optimizer.weight_decay "
                        "optimizer.foreach optimizer.fused optimizer_factory_kwargs_by_name "
                        "optimizer.optimizer_factory_kwargs_by_name "
                        "optimizer.optimizer_factory_kwargs_by_name. training.max_norm "
                        "training.warmup_steps"},
    SettingRow{.reason = "number of iterations, which are alike", .names = "training.steps"},
    SettingRow{.reason = "data, which loads beside training",
               .names = "training.dataset training.dataset_path training.dataset_ dataloader. "
                        "training.dataloader training.dataloader. training.num_workers "
                        "training.data_parallel_type"},
    SettingRow{.reason = "tokenizer, whose vocabulary is read",
               .names = "tokenizer. model.tokenizer_ hf_assets_path model.hf_assets_path"},
    SettingRow{.reason = "checkpoints between iterations, which goodput models",
               .names = "checkpoint."},
    SettingRow{.reason = "validation between iterations", .names = "validation. validator."},
    SettingRow{.reason = "logs, profiles and traces",
               .names = "job. metrics. profiling. profiler. dump_folder memory_estimation. "
                        "model.print_after_conversion debug.print_config debug.save_config_file "
                        "debug.enable_structured_logging debug.log_config comm.trace_buf_size "
                        "comm.save_traces_"},
    SettingRow{.reason = "time limits of collectives",
               .names = "comm.init_timeout_seconds comm.train_timeout_seconds"},
    SettingRow{.reason = "random numbers, and checks before training",
               .names = "training.seed debug.seed debug.deterministic_warn_only "
                        "debug.spmd_typechecking parallelism.spmd_backend "
                        "activation_checkpoint.preserve_rng_state "
                        "activation_checkpoint.determinism_check activation_checkpoint.debug"},
    SettingRow{.reason = "garbage collection of Python", .names = "training.gc_freq"},
    SettingRow{.reason = "settings of restarts, which goodput models", .names = "fault_tolerance."},
    SettingRow{.reason = "budget of a mode of activation_checkpoint, which is read by itself",
               .names = "activation_checkpoint.memory_budget "
                        "activation_checkpoint.visualize_memory_budget_pareto "
                        "activation_checkpoint.visualize"},
    SettingRow{.reason = "masks of attention for the balance of cp",
               .names = "parallelism.context_parallel_ptrr_mask_key"},
    SettingRow{.reason = "kind of the loss in its chunks", .names = "loss. loss.loss_fn."},
    SettingRow{.reason = "norms of the same cost", .names = "model.norm_type"},
    // Settings that are not modelled
    SettingRow{Changes::time_and_memory,
               "the optimizer would update each weight in the backward pass, without gradients in "
               "memory",
               "optimizer.early_step_in_backward"},
    SettingRow{Changes::time_and_memory, "optimizers of groups of parameters",
               "optimizer.param_groups optimizer.param_groups."},
    SettingRow{Changes::time_and_memory, "each rank of tp would compute the whole loss",
               "parallelism.disable_loss_parallel training.disable_loss_parallel"},
    SettingRow{Changes::time, "experts would overlap with another microbatch in fused pairs",
               "parallelism.pipeline_parallel_expert_parallel_overlap"},
    SettingRow{Changes::time_and_memory, "collectives of FSDP would use symmetric memory",
               "parallelism.enable_fsdp_symm_mem"},
    SettingRow{Changes::time, "the backward pass would be compiled as a whole",
               "parallelism.enable_compiled_autograd experimental.enable_compiled_autograd"},
    SettingRow{Changes::time, "modules of the stages; the key partition of a scenario sets layers",
               "parallelism.module_fqns_per_model_part "
               "parallelism.pipeline_parallel_split_points experimental.pipeline_parallel_split_"},
    SettingRow{Changes::time_and_memory, "shapes of products that are recomputed",
               "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns "
               "activation_checkpoint.force_recompute_mm_shapes_by_fqns",
               "moe.router.gate"},
    SettingRow{Changes::time, "another compiler than Inductor",
               "compile.backend compile.model_backend_override", "inductor off"},
    SettingRow{Changes::time_and_memory, "experts that stay in 16 bits",
               "quantize.grouped_mm.float8.fqns quantize.grouped_mm.mx.fqns", "experts off"},
    SettingRow{.reason = "how MXFP8 rounds its scales",
               .names = "quantize.linear.mx.recipe_name "
                        "quantize.grouped_mm.mx.recipe_name "
                        "mx.recipe_name"},
    SettingRow{Changes::time, "one reduction of the scaling factors of all weights",
               "quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp "
               "float8.precompute_float8_dynamic_scale_for_fsdp"},
    SettingRow{Changes::time_and_memory, "settings of low precision that are not read",
               "quantize. float8. mx."},
    SettingRow{Changes::time,
               "kernels that always add in the same order: attention's backward pass is slower",
               "training.deterministic debug.deterministic debug.batch_invariant"},
    SettingRow{Changes::time, "checks of each operation", "debug.detect_anomaly training.gc_debug"},
    SettingRow{Changes::time, "CUDA graphs; training.cuda_graphs predicts them",
               "training.disable_cuda_graphs", on},
    SettingRow{Changes::time, "collectives that send nothing", "comm.mode", "default"},
    SettingRow{Changes::time, "replicas that train apart for some iterations",
               "fault_tolerance.enable fault_tolerance.semi_sync_method"},
    SettingRow{Changes::time_and_memory, "code of the user, which is not read",
               "experimental.custom_import experimental.custom_args_module "
               "experimental.custom_model_path job.custom_config_module override. "
               "override.imports"},
};

}  // namespace

const SettingTable& known_settings() {
  static const SettingTable table({own_rows});
  return table;
}

SettingNames setting_names() {
  return {.others = {}, .flags = flags(), .unused = {&known_settings()}};
}

}  // namespace pipewright::jobs::torchtitan
