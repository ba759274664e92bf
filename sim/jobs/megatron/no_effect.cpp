#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "sim/jobs/megatron/megatron.hpp"

namespace pipewright::jobs::megatron {
namespace {

// Names of flags without effect on a prediction, such as those of files, logs and learning rates. A
// name that ends with _ is a prefix.
constexpr std::string_view quiet_flag_names =
    "DDP_impl accelerator activation_func_clamp_value adam_ adlr_ align_param_gather "
    "allow_ambiguous_ "
    "app_tag_ apply_layernorm_1p apply_query_key_layer_scaling apply_rope_fusion apply_wd_ "
    "async_ attention_softmax_ attention_softmax_in_fp32 auto_detect_ barrier_with_ bert_ "
    "bias_ bias_dropout_fusion biencoder_ block_data_path calc_ft_ calculate_per_token_loss "
    "chat_template check_ ckpt_ clip_grad "
    "clone_scatter_output_in_embedding comment config_logger_dir "
    "context_parallel_load_balancing contigious_checkpointing create_all_gather_group "
    "create_attention_mask_in_dataloader cross_entropy_fusion_impl "
    "cuda_graph_use_single_mempool cuda_graph_warmup_steps data_args_path data_cache_ "
    "data_efficiency_ data_impl data_parallel_random_init data_path dataloader_ "
    "dataset_provider ddp_average_in_collective ddp_pad_buckets_for_high_nccl_busbw "
    "decoupled_ deepspeed deepspeed_activation_checkpointing deepspeed_config deepspeed_mpi "
    "deterministic_mode disable_gloo_ disable_jit_fuser disable_mamba_mem_eff_path "
    "disable_msc disable_symmetric_registration dist_ckpt_ distribute_saved_activations "
    "distribute_checkpointed_activations distributed_backend distributed_timeout_ dump_ "
    "embedding_init_ embedding_path "
    "empty_unused_memory_level enable_experimental enable_ft_ enable_gloo_ enable_msc "
    "enable_one_logger end_weight_decay eod_mask_loss error_injection_ eval_ exit_ exp_name "
    "external_cuda_graph_ fim_ finetune flash_decode flight_recorder_ force_ckpt_ "
    "fp16_lm_cross_entropy fp32_residual_connection fp8_amax_ fp8_interval fp8_margin "
    "fp8_wgrad freeze_ fsdp_double_buffer fsdp_manual_registration ft_ full_validation "
    "fully_parallel_ global_train_ glu_linear_offset gpu_sniff_ gradient_reduce_div_fusion "
    "grpo_ head_lr_mult high_priority_ hostfile hysteresis ict_ incoming_requests_ "
    "inference_ init_method_ init_model_with_meta_device initial_loss_scale inprocess_ "
    "is_hybrid_model iterations_to_skip keep_fp8_transpose_cache langrl_ layernorm_epsilon "
    "layernorm_zero_centered_gamma lazy_init lazy_mpu_init legacy_tokenizer lion_ load load_ "
    "local_rank log_ logging_level logits_ loss_scale loss_scale_window lr lr_ lr_decay_ "
    "lr_decay_tokens lr_warmup_tokens mamba_inference_ manual_gc manual_gc_ mask_ "
    "masked_softmax_fusion master_ max_tokens_to_oom memory_snapshot_ merge_file "
    "metadata_path mid_level_ min_loss_scale min_lr mmap_bin_files mock_data model_provider "
    "moe_apply_probs_on_input moe_aux_loss_coeff moe_eval_capacity_factor moe_grouped_gemm "
    "moe_hybridep_num_blocks_ moe_hybridep_num_sms_preprocessing moe_input_jitter_eps "
    "moe_loss_coeff moe_min_capacity moe_pad_experts_for_cuda_graph_inference "
    "moe_per_layer_logging moe_permute_fusion moe_permute_fusion_into_hybridep moe_router_ "
    "moe_routing_trace_ moe_token_drop_policy moe_upcycling_ "
    "moe_use_legacy_grouped_gemm moe_use_upcycling moe_z_loss_coeff most_recent_k mscale "
    "mscale_ mtp_loss_scaling_factor mtp_use_repeated_layer multiple_validation_sets muon_ "
    "nccl_communicator_config_path no_align_param_gather no_async_ no_bias_ no_check_ "
    "no_ckpt_ no_contiguous_buffers_in_local_ddp no_create_ no_data_sharding "
    "no_gradient_reduce_div_fusion no_load_ "
    "no_masked_softmax_fusion no_mmap_ no_one_logger no_persist_layer_norm no_pin_ "
    "no_position_embedding no_query_key_layer_scaling no_record_ no_rope_fusion no_save_ "
    "no_use_tokenizer_ no_weight_decay_ no_yarn_ non_persistent_ norm_epsilon "
    "null_tokenizer_ num_dataset_builder_threads num_tokens_to_generate num_workers "
    "nvtx_ranges object_storage_ one_logger_ onnx_safe openai_gelu "
    "original_max_position_embeddings otel_ output_bert_embeddings output_path override_ "
    "pad_vocab_size partition_activations per_dataset_ per_split_ perform_initialization "
    "persist_layer_norm phase_transition_ pretrained_checkpoint profile profile_ "
    "profile_backward prompt prompt_ prompts pytorch_profiler_ qk_clip qk_clip_ "
    "query_in_block_prob record_ refit_method replication replication_ rerun_ reset_ "
    "restart_ result_rejected_tracker_filename retriever_ retro_ return_log_probs rl_ "
    "rope_scaling_factor rope_type rotary_ run_workload_ sample_rate save save_ seed sft_ "
    "sgd_ short_seq_prob should_pad_vocab skip_train softmax_scale softmax_type spec "
    "special_tokens split start_eval_ start_weight_decay straggler_ strict_ swiglu_ "
    "synchronize_each_layer te_rng_tracker temperature tensorboard_ termination_id "
    "test_data_path test_mode throughput_window_size tiktoken_ timing_ titles_data_path "
    "tokenizer_ top_ train_data_exact_num_epochs train_data_path train_iters train_samples "
    "train_sync_interval train_tokens trust_remote_code universal_checkpoint use_checkpoint_ "
    "use_contiguous_buffers_in_ddp use_cpu_initialization use_dist_ckpt "
    "use_fused_weighted_squared_relu use_gigatoken "
    "use_gloo_process_groups use_legacy_ use_mamba_mem_eff_path use_mcore_models "
    "use_mp_args_from_checkpoint_args use_nccl_ub use_nsys_profiler use_one_sent_docs "
    "use_persistent_ckpt_worker use_pytorch_profiler use_rope_scaling use_te_activation_func "
    "use_te_rng_tracker use_tokenizer_model_from_checkpoint_args valid_data_path validation_ "
    "verify_integrity vocab_extra_ids vocab_file wandb_ warmup wd_ weight_decay "
    "weight_decay_ yarn_ zero_allgather_ zero_contigious_gradients zero_reduce_";

struct QuietFlags {
  std::set<std::string, std::less<>> whole;
  std::vector<std::string> prefixes;
};

const QuietFlags& quiet_flags() {
  static const QuietFlags split = [] {
    QuietFlags names_and_prefixes;
    std::string_view rest = quiet_flag_names;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string name(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (name.ends_with('_'))
        names_and_prefixes.prefixes.push_back(name);
      else
        names_and_prefixes.whole.insert(name);
    }
    return names_and_prefixes;
  }();
  return split;
}

}  // namespace

bool has_no_effect(const std::string& name) {
  return quiet_flags().whole.contains(name) ||
         std::ranges::any_of(quiet_flags().prefixes,
                             [&](const std::string& prefix) { return name.starts_with(prefix); });
}

}  // namespace pipewright::jobs::megatron
