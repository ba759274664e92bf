#include <array>

#include "sim/jobs/megatron/megatron.hpp"

namespace pipewright::jobs::megatron {
namespace {

// Settings that change neither time nor memory by more than 1 %.
constexpr std::array quiet_rows{
    // The numbers of training
    SettingRow{
        .reason = "learning rate and its schedule",
        .names = "lr lr_ min_lr decoupled_lr decoupled_min_lr head_lr_mult warmup "
                 "override_opt_param_scheduler use_checkpoint_opt_param_scheduler wsd_decay_steps "
                 "phase_transition_iterations"},
    SettingRow{.reason = "weight decay",
               .names = "weight_decay weight_decay_ start_weight_decay end_weight_decay wd_ "
                        "apply_wd_ no_weight_decay_ decoupled_weight_decay"},
    SettingRow{.reason = "numbers in the update of the optimizer",
               .names = "adam_ sgd_ lion_ muon_momentum muon_nesterov muon_scale_mode "
                        "muon_extra_scale_factor muon_coefficient_type adaptive_muon_ soap_ "
                        "betas eps"},
    SettingRow{.reason = "norm and checks of gradients, one read in each iteration",
               .names = "clip_grad check_for_ no_check_for_ log_num_zeros_in_grad "
                        "grad_norm_skip_threshold check_weight_hash_across_dp_replicas_interval"},
    SettingRow{.reason = "scale of the loss, and weights of its terms",
               .names = "loss_scale loss_scale_window initial_loss_scale min_loss_scale hysteresis "
                        "moe_aux_loss_coeff moe_z_loss_coeff moe_loss_coeff "
                        "mtp_loss_scaling_factor calculate_per_token_loss eod_mask_loss "
                        "mtp_detach_heads grad_scale_func moe_grad_scale_func mtp_grad_scale_func"},
    SettingRow{.reason = "number of iterations, which are alike",
               .names = "train_iters train_samples train_tokens exit_ iterations_to_skip "
                        "train_data_exact_num_epochs train_sync_interval "
                        "decrease_batch_size_if_needed"},
    SettingRow{.reason = "validation between iterations",
               .names = "eval_ validation_ start_eval_ full_validation multiple_validation_sets"},
    SettingRow{.reason = "initial weights, and random numbers",
               .names = "init_method init_method_ output_layer_init_method embedding_init_ "
                        "perform_initialization no_initialization use_cpu_initialization "
                        "init_model_with_meta_device seed data_parallel_random_init "
                        "te_rng_tracker use_te_rng_tracker inference_rng_tracker lazy_init "
                        "lazy_mpu_init"},
    // Files
    SettingRow{.reason = "data, which loads beside training",
               .names =
                   "data_args_path data_cache_ data_impl data_path train_data_path valid_data_path "
                   "test_data_path per_dataset_ per_split_ split dataset_provider dataloader_type "
                   "dataloader_defer_npy_index_mmap dataloader_fast_cache_load num_workers "
                   "num_dataset_builder_threads no_mmap_ mmap_bin_files mock_data mid_level_ "
                   "object_storage_ no_data_sharding create_attention_mask_in_dataloader "
                   "no_create_ reset_position_ids fim_ "
                   "short_seq_prob sample_rate mask_ enable_msc disable_msc "
                   "rampup_samples no_data_parallel_sharding"},
    SettingRow{.reason = "masks of the data loader, which fused causal attention does not read",
               .names = "reset_attention_mask"},
    SettingRow{.reason = "tokenizer, whose vocabulary is read",
               .names = "tokenizer_ vocab_file merge_file vocab_extra_ids special_tokens tiktoken_ "
                        "null_tokenizer_ legacy_tokenizer no_use_tokenizer_ use_gigatoken "
                        "use_tokenizer_model_from_checkpoint_args trust_remote_code metadata_path "
                        "chat_template pad_vocab_size should_pad_vocab "
                        "allow_ambiguous_ sft_tokenizer_prompt_format"},
    SettingRow{
        .reason = "checkpoints between iterations, which goodput models",
        .names = "save save_ load load_ no_load_ no_save_ ckpt_ no_ckpt_ dist_ckpt_ use_dist_ckpt "
                 "async_save async_strategy async_ckpt_ use_persistent_ckpt_worker auto_detect_ "
                 "fully_parallel_ force_ckpt_ most_recent_k non_persistent_ "
                 "persistent_save_interval replication "
                 "replication_ pretrained_checkpoint finetune override_ckpt_iteration "
                 "strict_fsdp_dtensor_load verify_integrity universal_checkpoint "
                 "distrib_optim_fully_reshardable_mem_efficient hetereogenous_dist_checkpoint "
                 "upcycling_ moe_use_upcycling moe_upcycling_ use_checkpoint_ "
                 "mtp_hybrid_override_pattern"},
    SettingRow{.reason = "logs, profiles and traces",
               .names = "log_ logging_level tensorboard_ wandb_ timing_ barrier_with_ no_barrier_ "
                        "profile profile_ use_nsys_profiler use_pytorch_profiler "
                        "pytorch_profiler_ record_ memory_snapshot_ memory_keys nvtx_ranges otel_ "
                        "one_logger_ no_one_logger enable_one_logger throughput_window_size "
                        "config_logger_dir dump_ exp_name app_tag_ moe_per_layer_logging "
                        "moe_routing_trace_ flight_recorder_ comment output_path langrl_ "
                        "filter_warnings modules_to_filter set_level_for_all_loggers "
                        "runtime_time_unit timers"},
    SettingRow{.reason = "failures and restarts, which goodput models",
               .names =
                   "ft_ enable_ft_ calc_ft_ rerun_ error_injection_ fault_injector_ inprocess_ "
                   "straggler_ disable_straggler_on_startup adlr_ gpu_sniff_ "
                   "result_rejected_tracker_filename run_workload_ restart_"},
    SettingRow{.reason = "start of processes and groups",
               .names = "master_ local_rank hostfile distributed_timeout_ use_gloo_process_groups "
                        "enable_gloo_ disable_gloo_ tp_comm_bootstrap_backend rank node_rank "
                        "deepspeed deepspeed_config deepspeed_mpi "
                        "accelerator lazy_ "
                        "create_moe_param_group"},
    SettingRow{.reason =
                   "DeepSpeed's functions of recomputation, which --checkpoint-activations or "
                   "--recompute-granularity turns on",
               .names = "deepspeed_activation_checkpointing"},
    // Other programs of Megatron-LM
    SettingRow{.reason = "inference",
               .names = "inference_ flash_decode max_tokens_to_oom num_tokens_to_generate prompt "
                        "prompt_ prompts temperature termination_id top_ return_log_probs "
                        "incoming_requests_ use_legacy_static_engine use_legacy_ mamba_inference_ "
                        "moe_pad_experts_for_cuda_graph_inference enable_chunked_prefill "
                        "decode_only_cuda_graphs cache_mla_latents num_speculative_tokens "
                        "mlp_chunks_for_prefill nccl_all_reduce_for_prefill symmetric_ar_type "
                        "use_inference_optimized_layers use_same_sampling_seed_across_dp_ranks "
                        "test_mode refit_method sample_input_file sample_output_file "
                        "num_samples out_seq_length genfile"},
    SettingRow{.reason = "reinforcement learning, which --perform-rl-step turns on",
               .names = "rl_ grpo_ moe_enable_routing_replay"},
    SettingRow{.reason = "models of images, retrieval and BERT, which other programs train",
               .names = "bert_ biencoder_ ict_ retriever_ indexer_ titles_data_path "
                        "evidence_data_path block_data_path embedding_path query_in_block_prob "
                        "use_one_sent_docs output_bert_embeddings dino_ img_h img_w num_channels "
                        "num_classes patch_dim classes_fraction data_per_class_fraction "
                        "iter_per_epoch vision_backbone_type vision_pretraining_type "
                        "swin_backbone_type vocab_size_per_ retro_ "
                        "disable_vision_class_token pixel_shuffle use_tiling use_thumbnail "
                        "max_num_tiles image_tag_type num_frames "
                        "allow_missing_vision_projection_checkpoint"},
    SettingRow{.reason = "details of a distillation, which has a line of its own",
               .names = "logits_load_ logits_save_ kd_ num_layers_teacher hidden_size_teacher "
                        "num_attention_heads_teacher num_experts_teacher load_teacher"},
    // Numbers and forms of operations whose cost is the same
    SettingRow{.reason = "angles and scaling of rotary positions",
               .names =
                   "rotary_ rope_scaling_factor rope_type use_rope_scaling yarn_ no_yarn_ mscale "
                   "mscale_ beta_fast beta_slow original_max_position_embeddings no_rope_freq "
                   "mrope_section no_position_embedding seq_len_interpolation_factor"},
    SettingRow{.reason = "numbers in norms, activation functions and softmax",
               .names = "layernorm_ norm_epsilon apply_layernorm_1p "
                        "apply_residual_connection_post_layernorm activation_func_clamp_value "
                        "glu_linear_offset onnx_safe softmax_scale mup_ use_mup "
                        "moe_input_jitter_eps qk_clip_ activation_func"},
    SettingRow{.reason = "softmax in fp32, in which fused attention computes by itself",
               .names = "apply_query_key_layer_scaling no_query_key_layer_scaling "
                        "attention_softmax_ "
                        "attention_softmax_in_fp32"},
    SettingRow{.reason = "scores and biases of the router",
               .names = "moe_router_ moe_token_drop_policy moe_eval_capacity_factor "
                        "moe_min_capacity moe_token_dropping moe_shared_expert_gate "
                        "moe_apply_probs_on_input moe_hybridep_pad_uneven_dispatch_inputs"},
    SettingRow{.reason = "scaling factors of FP8",
               .names = "fp8_margin fp8_interval fp8_amax_ tp_only_amax_red reduce_amax"},
    SettingRow{.reason = "collectives of tp beside products, as the stack has them",
               .names = "no_async_tensor_model_parallel_allreduce "
                        "async_tensor_model_parallel_allreduce"},
    SettingRow{.reason = "layout of weights of experts in memory",
               .names = "moe_single_grouped_weight moe_single_grouped_bias "
                        "moe_mlp_glu_interleave_size moe_shared_expert_glu_interleave_size "
                        "glu_interleave_size"},
    SettingRow{.reason = "small kernels in which HybridEP prepares tokens",
               .names = "moe_hybridep_num_blocks_ moe_hybridep_num_sms_preprocessing"},
    SettingRow{.reason = "buffers that are freed after the first layer",
               .names = "clone_scatter_output_in_embedding"},
    SettingRow{.reason = "garbage collection of Python", .names = "manual_gc manual_gc_"},
    SettingRow{.reason = "warm-up of CUDA graphs before the first iteration",
               .names = "cuda_graph_warmup_steps"},
    SettingRow{.reason = "form of the reduction of gradients, of the same bytes",
               .names = "ddp_average_in_collective average_in_collective "
                        "ddp_pad_buckets_for_high_nccl_busbw pad_buckets_for_high_nccl_busbw "
                        "disable_symmetric_registration fsdp_manual_registration "
                        "fsdp_all_gather_in_start_param_sync "
                        "fsdp_db_use_persist_buf_on_alloc_fail "
                        "zero_contigious_gradients zero_allgather_ zero_reduce_ "
                        "use_contiguous_buffers_in_ddp no_contiguous_buffers_in_local_ddp "
                        "contigious_checkpointing DDP_impl"},
    SettingRow{.reason = "settings of the attention variant dsa, which has a line of its own",
               .names = "dsa_ csa_ experimental_attention_variant_loss_scale_func"},
    SettingRow{.reason = "settings of hyper-connections, which have a line of their own",
               .names = "mhc_"},
    SettingRow{.reason = "internal or obsolete, and read by nothing",
               .names = "use_mcore_models is_hybrid_model enable_experimental mtp_standalone "
                        "finalize_model_grads_func no_sync_func grad_sync_func param_sync_func "
                        "tp_comm_split_ag tp_comm_split_rs tp_comm_atomic_ag tp_comm_atomic_rs "
                        "use_ring_exchange_p2p "
                        "variable_seq_lengths "
                        "profile_backward synchronize_each_layer model_provider"},
};

}  // namespace

std::span<const SettingRow> quiet_settings() { return quiet_rows; }

}  // namespace pipewright::jobs::megatron
