#include <array>

#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/nemo/aliases.hpp"
#include "sim/jobs/nemo/nemo.hpp"

namespace pipewright::jobs::nemo {
namespace {

// Sections and names of NeMo, Megatron-Bridge and MLPerf that Megatron-LM does not have, and those
// that have another meaning here. Other names are those of megatron::known_settings().
constexpr std::array own_rows{
    // Sections without effect
    SettingRow{.reason = "logs, profiles and traces",
               .names = "exp_manager. logger. run. hydra. profiling. tensor_inspect. "
                        "model.nsys_profile. nsys_profile. enable_megatron_timers "
                        "apex_transformer_log_level skip_train_metrics_log wandb_"},
    SettingRow{.reason = "checkpoints between iterations, which goodput models",
               .names = "checkpoint. max_write_concurrency max_read_concurrency "
                        "resume_from_checkpoint restore_from_path restore_modelopt_state hf_"},
    SettingRow{.reason = "learning rate and its schedule",
               .names = "scheduler. model.optim.sched. optim.sched. finetune_lr "
                        "optimizer_config_override_provider optimizer_config_override_provider."},
    SettingRow{.reason = "data, which loads beside training",
               .names = "dataset. model.data. data. delimiter get_attention_mask_from_fusion "
                        "use_arbitrary_attention_mask"},
    SettingRow{.reason = "tokenizer, whose vocabulary is read",
               .names = "tokenizer.hf_tokenizer_kwargs tokenizer.hf_tokenizer_kwargs. "
                        "tokenizer.sp_tokenizer_kwargs tokenizer.sp_tokenizer_kwargs. use_fast "
                        "sentencepiece_legacy tokenizer_library chat_template_path "
                        "force_system_message image_tag_type use_tokenizer_vocab_size"},
    SettingRow{.reason = "random numbers", .names = "rng."},
    SettingRow{.reason = "validation between iterations",
               .names = "validation. num_sanity_val_steps limit_val_batches limit_test_batches "
                        "val_check_interval"},
    SettingRow{.reason = "failures and restarts, which goodput models",
               .names = "straggler. ft. inprocess_restart. nvrx_straggler. rerun_state_machine. "
                        "fault_tolerance."},
    SettingRow{.reason = "loop of PyTorch Lightning around the iterations",
               .names =
                   "accumulate_grad_batches benchmark enable_progress_bar limit_train_batches "
                   "enable_checkpointing log_every_n_steps logger max_epochs num_epochs "
                   "max_steps max_time replace_sampler_ddp use_distributed_sampler target name "
                   "gradient_clip_val enable_model_summary strategy accelerator "
                   "check_optimizer_step_success skip_sync_grad_norm_across_mp"},
    SettingRow{.reason = "start of processes and groups",
               .names = "use_decentralized_pg external_gpu_device_mapping "
                        "enable_megatron_core_experimental data_parallel_size env_vars. work_group "
                        "user_name workspace stderr_sink_level disable_last_saving "
                        "auto_continue_train"},
    SettingRow{.reason = "numbers of adapters (LoRA) that are off",
               .names = "peft peft. model.peft model.peft."},
    // Names without effect
    SettingRow{.reason = "scaling factors of FP8", .names = "fp8_e4m3"},
    SettingRow{.reason = "scale of the loss in fp16", .names = "native_amp_"},
    SettingRow{.reason = "numbers in norms, positions and attention",
               .names = "attention_type headscale normalize_attention_scores rotary_percentage "
                        "scale_positional_embedding transformer_block_type use_emha rope_scaling "
                        "use_scaled_init_method do_layer_norm_weight_decay"},
    SettingRow{.reason = "embedding and output layer on the first and the last stage",
               .names = "pre_process post_process mtp_enabled"},
    SettingRow{
        .reason = "kernels of tp_comm_overlap as recipes choose them, which the model assumes",
        .names = "model.ub_tp_comm_overlap_cfg model.ub_tp_comm_overlap_cfg. "
                 "tp_comm_overlap_cfg tp_comm_overlap_cfg."},
    SettingRow{.reason = "garbage collection of Python", .names = "gc_interval"},
    SettingRow{.reason = "marks of images and sound among the tokens",
               .names = "image_token_id video_token_id audio_token_id vision_start_token_id "
                        "vision_end_token_id audio_start_token_id audio_end_token_id "
                        "position_id_per_seconds seconds_per_chunk"},
    // Settings that are not modelled
    SettingRow{Changes::time_and_memory, "settings of other files, which are not read", "defaults",
               "_self_"},
    SettingRow{Changes::time, "variables of NCCL", "env_vars.NCCL_"},
    SettingRow{.reason = "start of processes and groups",
               .names = "env_vars.NCCL_IGNORE_CPU_AFFINITY"},
    SettingRow{Changes::time, "NCCL would register the buffers of CUDA graphs",
               "env_vars.NCCL_GRAPH_REGISTER"},
    SettingRow{Changes::time, "priority of the streams of collectives",
               "env_vars.TORCH_NCCL_HIGH_PRIORITY"},
    SettingRow{Changes::memory, "tensors of collectives would be kept longer",
               "env_vars.TORCH_NCCL_AVOID_RECORD_STREAMS", on},
    SettingRow{Changes::time,
               "kernels of Transformer Engine, and the SMs that they leave to collectives",
               "env_vars.NVTE_ env_vars.CUDNNFE_"},
    SettingRow{.reason = "which code of Transformer Engine offloads",
               .names = "env_vars.NVTE_CPU_OFFLOAD_V1"},
    SettingRow{.reason = "NVLink domains, which the cluster states",
               .names = "env_vars.NVLINK_DOMAIN_SIZE env_vars.USE_MNNVL "
                        "env_vars.NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN"},
    SettingRow{Changes::time, "chunks in which HybridEP's kernels send tokens",
               "env_vars.NUM_OF_TOKENS_PER_CHUNK_"},
    SettingRow{Changes::memory, "workspaces of cuBLAS", "env_vars.CUBLAS_WORKSPACE_CONFIG"},
    SettingRow{Changes::time,
               "attention within each document alone, which training.lengths predicts",
               "dataset.packed_sequence_specs. data.packed_sequence model.data.packed_sequence"},
    SettingRow{Changes::time, "bytes of a bucket of gradients, which communication.bucket sets",
               "bucket_cap_mb grad_allreduce_chunk_size_mb"},
    SettingRow{Changes::time_and_memory, "data type in which NeMo's FSDP reduces gradients",
               "fsdp_grad_reduce_dtype", "bf16 bf16-mixed"},
    SettingRow{Changes::memory, "gradients and weights would not be in one buffer",
               "contiguous_grad_buffer contiguous_param_buffer gradient_as_bucket_view", on},
    SettingRow{Changes::time, "a dropout more in the MLP", "ffn_dropout", "0 0.0"},
    SettingRow{Changes::time, "layers that are neither Megatron-Core's nor Transformer Engine's",
               "mcore_gpt transformer_engine", on},
    SettingRow{Changes::time_and_memory, "weights and gradients without main copies in fp32",
               "megatron_amp_O2", on},
    SettingRow{Changes::time, "transfers between stages would stop the host", "sync_batch_comm"},
    SettingRow{Changes::time, "further operations in one kernel, up to a few percent of a layer",
               "dense_grouped_gemm use_transformer_engine_full_layer_spec "
               "apply_rotary_pos_emb_in_fp32"},
    SettingRow{Changes::time_and_memory, "each rank would keep its part of sequences or logits",
               "scatter_embedding_sequence_parallel parallel_output", on},
    SettingRow{Changes::time_and_memory,
               "training in fp32, which training.precision: fp32 predicts", "mixed_precision.fp32"},
    SettingRow{Changes::time, "operations would choose their data type as in PyTorch",
               "autocast_enabled"},
    SettingRow{Changes::time_and_memory, "several models in one job",
               "language_model_spec modality_submodules_spec module_output_ndim special_token_ids "
               "standard_provider topology megatron_mimo_parallelism_config transformer"},
    SettingRow{Changes::time_and_memory, "data types of the modules of multi-token prediction",
               "keep_mtp_spec_in_bf16"},
    SettingRow{Changes::memory, "data type of logits", "logit_dtype"},
    SettingRow{Changes::time, "length of the chunks of Mamba", "mamba_chunk_size", "128"},
    SettingRow{Changes::time_and_memory,
               "layers that a ratio or a class of Python describes, which is not read",
               "hybrid_attention_ratio hybrid_mlp_ratio transformer_layer_spec mamba_stack_spec "
               "hybrid_stack_spec"},
    SettingRow{Changes::time_and_memory, "an encoder beside the decoder",
               "seq_length_dec encoder_pipeline_model_parallel_size"},
    SettingRow{Changes::time_and_memory, "an encoder of images or sound before the model",
               "vision_config vision_config. hf_text_config use_hf_vision_model "
               "deepstack_visual_indexes fullatt_block_indexes patch_size in_channels "
               "out_hidden_size spatial_merge_size temporal_patch_size num_position_embeddings "
               "vision_dp_when_cp max_vision_cuda_graph_seq_length projector_bias "
               "understand_projector_stride language_max_sequence_length"},
    SettingRow{Changes::time_and_memory,
               "recomputation, CUDA graphs or offloading by variables of MLPerf",
               "ACT_CKPT_ CUDA_GRAPH LAYER_CUDA_GRAPH MC_TP_OVERLAP_AG CPU_OFFLOADING"},
};

}  // namespace

const SettingTable& known_settings() {
  static const SettingTable table({own_rows});
  return table;
}

SettingNames setting_names() {
  SettingNames names = megatron::setting_names();
  for (const SpecialName& special : special_names)
    names.others.emplace_back(special.name, special.key);
  for (const Alias& alias : aliases) names.others.emplace_back(alias.name, alias.flag);
  names.unused.insert(names.unused.begin(), &known_settings());
  return names;
}

std::vector<std::string_view> used_names() {
  std::vector<std::string_view> names;
  for (const Alias& alias : aliases) names.push_back(alias.name);
  for (const SpecialName& special : special_names) names.push_back(special.name);
  return names;
}

}  // namespace pipewright::jobs::nemo
