#include <algorithm>
#include <array>

#include "sim/jobs/torchtitan/torchtitan.hpp"

namespace pipewright::jobs::torchtitan {
namespace {

constexpr std::array table{
    Flag{"model.name", "model", Form::rule},
    Flag{"model.flavor", "model", Form::rule},
    Flag{"model.converters", "training.precision", Form::rule},
    Flag{"training.local_batch_size", "training.microbatch_size", Form::rule},
    Flag{"training.global_batch_size", "global_batch", Form::rule},
    Flag{"training.seq_len", "training.sequence", Form::copy},
    Flag{"training.max_context_length", "training.sequence", Form::copy},
    Flag{"training.num_tokens_per_microbatch_per_dp_rank", "training.microbatch_size", Form::rule},
    Flag{"training.num_tokens_per_train_step", "global_batch", Form::rule},
    Flag{"parallelism.data_parallel_replicate_degree", "parallel.replicate", Form::rule},
    Flag{"parallelism.data_parallel_shard_degree", "parallel.shard", Form::rule},
    Flag{"parallelism.fsdp_reshard_after_forward", "parallel.reshard_after_forward", Form::rule},
    Flag{"parallelism.tensor_parallel_degree", "parallel.tp", Form::copy},
    Flag{"parallelism.enable_sequence_parallel", "parallel.sp", Form::rule},
    Flag{"parallelism.enable_async_tensor_parallel", "communication.tp_comm_overlap", Form::on},
    Flag{"compile.enable_async_tensor_parallel", "communication.tp_comm_overlap", Form::on},
    Flag{"parallelism.context_parallel_degree", "parallel.cp", Form::copy},
    Flag{"parallelism.context_parallel_rotate_method", "parallel.cp_comm_type", Form::choice,
         "allgather=all_gather alltoall=p2p", "all_gather"},
    Flag{"parallelism.context_parallel_load_balancer", "parallel.cp_load_balance", Form::choice,
         "headtail=head_tail ptrr=head_tail =none None=none null=none none"},
    Flag{"parallelism.expert_parallel_degree", "parallel.ep", Form::copy},
    Flag{"parallelism.expert_tensor_parallel_degree", "parallel.etp", Form::copy},
    Flag{"parallelism.pipeline_parallel_degree", "parallel.pp", Form::copy},
    Flag{"parallelism.pipeline_parallel_schedule", "schedule.name", Form::rule},
    Flag{"parallelism.pipeline_parallel_schedule_csv", "schedule.name", Form::rule},
    Flag{"parallelism.pipeline_parallel_layers_per_stage", "schedule.chunks", Form::rule},
    Flag{"parallelism.pipeline_parallel_microbatch_size", "training.microbatch_size", Form::rule},
    Flag{"parallelism.num_pp_microbatches", "training.microbatch_size", Form::rule},
    Flag{"parallelism.pipeline_parallel_first_stage_less_layers", "partition", Form::rule},
    Flag{"parallelism.pipeline_parallel_last_stage_less_layers", "partition", Form::rule},
    Flag{"activation_checkpoint.mode", "training.recompute.granularity", Form::rule},
    Flag{"activation_checkpoint.selective_ac_option", "training.recompute.every", Form::rule},
    Flag{"compile.enable", "training.fused_loss", Form::rule},
    Flag{"compile.components", "training.fused_loss", Form::rule},
};

constexpr std::array no_effect{"checkpoint.",
                               "comm.",
                               "debug.",
                               "experimental.",
                               "fault_tolerance.",
                               "job.",
                               "lr_scheduler.",
                               "memory_estimation.",
                               "metrics.",
                               "optimizer.beta",
                               "optimizer.eps",
                               "optimizer.foreach",
                               "optimizer.fused",
                               "optimizer.implementation",
                               "optimizer.lr",
                               "optimizer.early_step",
                               "optimizer.weight_decay",
                               "profiling.",
                               "validation.",
                               "training.dataset",
                               "training.debug_moe",
                               "training.deterministic",
                               "training.gc_",
                               "training.max_norm",
                               "training.seed",
                               "training.steps",
                               "training.dataloader",
                               "model.hf_assets_path",
                               "model.tokenizer_path",
                               "model.print_after_conversion",
                               "parallelism.disable_loss_parallel",
                               "parallelism.pipeline_parallel_expert_parallel_overlap",
                               "activation_checkpoint.early_stop",
                               "activation_checkpoint.per_op_sac_",
                               "activation_checkpoint.preserve_rng_state",
                               "activation_checkpoint.determinism_check",
                               "activation_checkpoint.visualize",
                               "activation_checkpoint.memory_budget",
                               "activation_checkpoint.debug",
                               "compile.backend",
                               "compile.model_backend_override",
                               "quantize.",
                               "training.mixed_precision_reduce",
                               "training.dtype",
                               "parallelism.spmd_backend",
                               "dataloader.",
                               "tokenizer.",
                               "dump_folder",
                               "hf_assets_path",
                               "profiler.",
                               "loss.",
                               "training.num_workers"};

}  // namespace

std::span<const Flag> flags() { return table; }

bool has_no_effect(const std::string& name) {
  return std::ranges::any_of(no_effect,
                             [&](std::string_view known) { return name.starts_with(known); });
}

}  // namespace pipewright::jobs::torchtitan
