#include <array>

#include "sim/jobs/megatron/megatron.hpp"

namespace pipewright::jobs::megatron {
namespace {

// Settings that change time or memory, and that no key of a scenario expresses, with how much they
// would change where that is known. A scenario's key that comes near is named.
constexpr std::array unmodelled_rows{
    // Optimizer and its state
    SettingRow{Changes::time_and_memory,
               "optimizer state would leave the GPU: up to 12 bytes a parameter less memory, and a "
               "slower step",
               "cpu_optimizer"},
    SettingRow{Changes::time,
               "the symmetric products of Muon's iterations would compute half of their results",
               "muon_use_syrk"},
    SettingRow{Changes::time_and_memory,
               "embeddings, norms and biases would have one moment instead of Adam's two",
               "muon_scalar_optimizer", "adam"},
    SettingRow{Changes::time, "the optimizer's step as a CUDA graph, with fewer launches",
               "optimizer_cuda_graph"},
    SettingRow{Changes::time_and_memory,
               "frozen layers would have neither gradients nor optimizer state", "freeze_"},
    // Activations
    SettingRow{
        Changes::time_and_memory,
        "activations or weights of layers would leave the GPU, as --cpu-offloading-num-layers "
        "says",
        "cpu_offloading_weights cpu_offloading_double_buffering "
        "cpu_offloading_retain_pinned_cpu_buffers checkpoint_in_cpu remote_device "
        "use_pin_memory"},
    SettingRow{Changes::time_and_memory, "layers would keep their activations on the GPU",
               "cpu_offloading_activations", on},
    SettingRow{
        Changes::time_and_memory,
        "inputs of recomputed layers would be divided among the ranks of tp: a tp-th of their "
        "memory, and an all-gather before each recomputation",
        "distribute_saved_activations distribute_checkpointed_activations "
        "partition_activations"},
    SettingRow{Changes::time_and_memory, "some microbatches would recompute fewer layers",
               "num_microbatches_with_partial_activation_checkpoints "
               "num_micro_batches_with_partial_activation_checkpoints "
               "activations_checkpoint_layers_per_pipeline"},
    SettingRow{Changes::time_and_memory,
               "layers of experts would be recomputed; --recompute-granularity selective "
               "--recompute-modules moe says the same and is read",
               "moe_layer_recompute"},
    SettingRow{Changes::memory, "inputs of experts would wait in pages of a common buffer",
               "moe_paged_stash moe_paged_stash_buffer_size_factor_cpu "
               "moe_paged_stash_buffer_size_factor_cuda moe_paged_stash_page_size"},
    SettingRow{Changes::memory, "activations of attention would be freed early in fused pairs",
               "ep_overlap_early_attn_memory_release"},
    SettingRow{Changes::memory, "inputs of norms would not be stored beside their outputs",
               "memory_efficient_layer_norm"},
    SettingRow{Changes::time_and_memory, "MLPs would compute a microbatch in chunks",
               "mlp_chunks_for_training", "1 off"},
    SettingRow{Changes::time_and_memory, "residual connections in fp32, of twice the bytes",
               "fp32_residual_connection"},
    SettingRow{
        Changes::time_and_memory,
        "logits and loss in chunks, without logits in memory; training.loss_chunks predicts a "
        "loss in chunks",
        "cross_entropy_fusion_impl", "native te"},
    SettingRow{Changes::memory, "data type of logits and of the loss",
               "fp16_lm_cross_entropy output_logit_dtype"},
    SettingRow{Changes::memory, "data type of the states between chunks of Mamba",
               "mamba_training_ssm_states_dtype", "fp32 float32 torch.float32 none None"},
    SettingRow{Changes::time_and_memory, "Mamba in several kernels, which store more",
               "disable_mamba_mem_eff_path"},
    SettingRow{Changes::time_and_memory, "Mamba in several kernels, which store more",
               "use_mamba_mem_eff_path", on},
    SettingRow{Changes::time_and_memory,
               "PyTorch's cache would be emptied in each iteration: less waste, and calls of "
               "cudaMalloc",
               "empty_unused_memory_level"},
    // Gradients and data parallelism
    SettingRow{Changes::time_and_memory,
               "weight gradients of the output layer would wait for the end of the pipeline, and "
               "keep their inputs",
               "defer_embedding_wgrad_compute"},
    SettingRow{Changes::memory, "microbatches whose inputs wait for deferred weight gradients",
               "wgrad_deferral_limit"},
    SettingRow{Changes::time,
               "a pass over all gradients divides them, 8 bytes a parameter in each iteration",
               "no_gradient_reduce_div_fusion"},
    SettingRow{Changes::time,
               "a pass over all gradients divides them, 8 bytes a parameter in each iteration",
               "gradient_reduce_div_fusion grad_div_ar_fusion", on},
    SettingRow{Changes::time,
               "number of buckets of gradients; communication.bucket sets their bytes",
               "ddp_num_buckets num_buckets"},
    SettingRow{Changes::time, "the first weights would be gathered beside the optimizer's step",
               "overlap_param_gather_with_optimizer_step"},
    SettingRow{Changes::time, "stages would start their gathers and reductions one by one",
               "no_align_param_gather no_align_grad_reduce"},
    SettingRow{Changes::time, "stages would start their reductions one by one", "align_grad_reduce",
               on},
    SettingRow{Changes::time, "stages would start their gathers together", "align_param_gather"},
    SettingRow{Changes::time_and_memory,
               "NCCL would read and write registered buffers, with fewer SMs",
               "use_nccl_ub nccl_ub gtp_remat_nccl_ub gtp_expert_remat_nccl_ub"},
    SettingRow{Changes::time, "gathers would have a process group and a stream of their own",
               "create_all_gather_group"},
    SettingRow{Changes::memory, "more gradients accumulate in fp32",
               "ddp_param_name_patterns_for_fp32_local_accumulation "
               "param_name_patterns_for_fp32_local_accumulation"},
    SettingRow{Changes::time, "gradients travel by all-to-all, and are added in fp32",
               "ddp_reduce_scatter_with_fp32_accumulation reduce_scatter_with_fp32_accumulation "
               "gtp_remat_reduce_scatter_with_fp32_accumulation"},
    SettingRow{Changes::time_and_memory, "buffers and data types of Megatron-FSDP",
               "keep_fp8_transpose_cache megatron_fsdp_use_decoupled_grad "
               "megatron_fsdp_cuda_graph_mode megatron_fsdp_enable_fine_grained_param_gather"},
    SettingRow{Changes::time_and_memory, "data types of Megatron-FSDP",
               "megatron_fsdp_main_params_dtype megatron_fsdp_main_grads_dtype "
               "megatron_fsdp_grad_comm_dtype",
               "fp32 auto torch.float32"},
    SettingRow{Changes::memory, "gathered weights in MXFP8 would share the buffer of the gradients",
               "reuse_grad_buf_for_mxfp8_param_ag"},
    SettingRow{Changes::time_and_memory, "more weights would be divided, and gathered for each use",
               "gtp_remat_opt_in_modules", "none None off"},
    // Other collectives
    SettingRow{Changes::time,
               "the switches would reduce gradients, as communication.all_reduce predicts",
               "use_sharp sharp_enabled_group"},
    SettingRow{Changes::time, "settings of NCCL by process group, in a file that is not read",
               "nccl_communicator_config_path"},
    SettingRow{Changes::time, "priority of the streams of collectives",
               "high_priority_stream_groups high_priority_a2a_comm_stream"},
    SettingRow{Changes::time, "another library than NCCL",
               "distributed_backend pipeline_model_parallel_comm_backend", "nccl off"},
    SettingRow{Changes::time, "which products overlap with the collectives of tp, and by which SMs",
               "tp_comm_overlap_cfg tp_comm_overlap_rs_dgrad tp_comm_overlap_disable_qkv "
               "tp_comm_overlap_disable_fc1 disable_tp_comm_"},
    SettingRow{Changes::time, "which products overlap with the collectives of tp",
               "tp_comm_overlap_ag tp_comm_overlap_rs tp_comm_bulk_dgrad tp_comm_bulk_wgrad", on},
    SettingRow{Changes::time, "tensors between stages would travel by single calls of NCCL",
               "batch_p2p_comm", "true True false False"},
    SettingRow{Changes::time, "transfers between stages would not stop the host", "batch_p2p_sync",
               on},
    SettingRow{Changes::time,
               "ranks of cp would divide documents of different lengths anew, which "
               "training.lengths.balance: context_parallel predicts",
               "hybrid_context_parallel max_seqlen_per_dp_cp_rank"},
    SettingRow{Changes::time, "weight gradients of experts would overlap with their dispatch",
               "overlap_dispatch_backward_with_experts_wgrad"},
    SettingRow{Changes::time, "data types and buffers of NCCL's dispatcher",
               "moe_ncclep_zero_copy moe_dispatch_fwd_dtype moe_combine_bwd_dtype", "bf16 off"},
    // Data types
    SettingRow{Changes::time, "weight gradients would be computed in 16 bits", "no_fp8_wgrad"},
    SettingRow{Changes::time, "weight gradients would be computed in 16 bits", "fp8_wgrad", on},
    SettingRow{Changes::time_and_memory,
               "products around attention would write and read FP8, without casts between them",
               "fp8_multi_head_attention"},
    SettingRow{Changes::time_and_memory, "the backward pass of attention would be in 16 bits",
               "nvte_fp8_dpa_bwd", on},
    SettingRow{Changes::time_and_memory, "weights would be stored and gathered in FP4",
               "fp4_param"},
    SettingRow{Changes::time_and_memory, "a recipe of FP4 that is not read", "fp4_recipe",
               "nvfp4 off"},
    SettingRow{Changes::time_and_memory,
               "data types by module, in code or a file that is not read; training.precision: "
               "{experts: mxfp8} predicts types of modules",
               "fp8_quantizer_factory fp4_quantizer_factory te_precision_config_file quant_recipe "
               "use_kitchen use_kitchen_attention kitchen_"},
    SettingRow{Changes::time, "kernels of Primus-Turbo", "enable_primus_turbo use_turbo_ turbo_"},
    SettingRow{Changes::memory, "transposed weights in FP8 would not be kept",
               "disable_parameter_transpose_cache"},
    SettingRow{Changes::time, "products would accumulate in fp32 alone",
               "disable_bf16_reduced_precision_matmul"},
    SettingRow{Changes::time_and_memory,
               "data type of weights or transfers, which --bf16 and --fp16 state",
               "params_dtype pipeline_dtype autocast_dtype",
               "bf16 fp16 bfloat16 float16 torch.bfloat16 torch.float16 torch.half none None null"},
    SettingRow{Changes::time, "operations would choose their data type as in PyTorch",
               "enable_autocast"},
    // Kernels
    SettingRow{
        Changes::time,
        "kernels that always add in the same order: attention's backward pass is slower, and "
        "gated delta nets run as loops, which training.deterministic predicts",
        "deterministic_mode batch_invariant_mode"},
    SettingRow{Changes::nothing, "kernels of --batch-invariant-mode", "batch_invariant_backend"},
    SettingRow{Changes::time,
               "activation function in several kernels, which stack.fused without activation "
               "predicts",
               "use_fused_weighted_squared_relu", on},
    SettingRow{Changes::time,
               "activation function in several kernels, which stack.fused without activation "
               "predicts",
               "openai_gelu"},
    SettingRow{Changes::time, "norms or elementwise operations in slower kernels",
               "no_persist_layer_norm disable_jit_fuser"},
    SettingRow{Changes::time, "norms in slower kernels", "persist_layer_norm", on},
    SettingRow{Changes::time, "further operations in one kernel, up to a few percent of a layer",
               "fused_residual_rmsnorm fused_single_qkv_rope mla_down_proj_fusion "
               "use_grouped_gemm_for_dense_mlp use_grouped_gemm_for_shared_expert "
               "moe_permute_fusion_into_hybridep use_te_activation_func moe_use_grouped_tensor "
               "gdp_cutedsl_kernel"},
    SettingRow{Changes::time, "experts one after the other, with a launch for each product",
               "moe_grouped_gemm", on},
    SettingRow{Changes::time, "grouped products of CUTLASS, without those of Transformer Engine",
               "moe_use_legacy_grouped_gemm"},
    SettingRow{Changes::time,
               "version of FlashAttention; stack.attention: [fa2] or [fa3] predicts it",
               "flash_attention_version"},
    SettingRow{Changes::time, "a further output of attention, the largest score",
               "qk_clip log_max_attention_logit"},
    SettingRow{Changes::memory, "CUDA graphs with memory of their own",
               "cuda_graph_use_single_mempool", on},
    SettingRow{Changes::memory, "CUDA graphs that keep tensors for a second backward pass",
               "cuda_graph_retain_backward_graph"},
    SettingRow{Changes::time,
               "norms of queries and keys without weights; model.qk_layernorm comes near",
               "qk_l2_norm"},
    // Routing
    SettingRow{Changes::time, "uneven loads of experts; training.experts.power_law predicts some",
               "moe_router_force_biased"},
    SettingRow{Changes::time,
               "experts of a token on a limited number of ranks; "
               "--moe-router-num-groups and --moe-router-group-topk are read",
               "moe_router_topk_limited_devices"},
    SettingRow{Changes::time_and_memory, "tokens that a rank of experts accepts",
               "moe_expert_rank_capacity_factor"},
    // The model, the batch and the data
    SettingRow{Changes::time_and_memory,
               "layers that a file or a class of Python describes, which is not read",
               "heterogeneous_layers_config_path heterogeneous_layers_config_encoded_json "
               "heterogeneous_block_specs yaml_cfg"},
    SettingRow{Changes::time_and_memory,
               "layers that a class of Python describes, which is not read", "spec",
               "local megatron.core.models.mamba.mamba_layer_specs "
               "megatron.core.models.hybrid.hybrid_layer_specs"},
    SettingRow{Changes::time_and_memory,
               "sizes of the model or the layout from a checkpoint, which is not read",
               "use_checkpoint_args use_mp_args_from_checkpoint_args"},
    SettingRow{Changes::time_and_memory, "several streams of residual connections",
               "enable_mhc_connections"},
    SettingRow{Changes::time_and_memory, "products of several Householder reflections",
               "gdp_num_householder gdp_num_chunk_states_to_recompute"},
    SettingRow{Changes::time_and_memory, "an encoder beside the decoder",
               "encoder_num_layers decoder_num_layers encoder_seq_length decoder_seq_length"},
    SettingRow{Changes::time_and_memory, "biases of positions in attention",
               "relative_attention_num_buckets relative_attention_max_distance"},
    SettingRow{Changes::time_and_memory,
               "a model of images, or an encoder of images before the model",
               "vision_pretraining vision_model_type language_model_type"},
    SettingRow{Changes::time_and_memory, "passages that a retriever adds to the input",
               "retro_add_retriever"},
    SettingRow{Changes::time, "a mixture of hidden states before multi-token prediction",
               "mtp_hsm"},
    SettingRow{Changes::time,
               "attention within each document alone, which training.lengths predicts",
               "sft dataloader_inter_document_masking use_packed_sequence packed_sequence"},
    SettingRow{Changes::time, "other batches in the course of training",
               "step_batch_size_schedule"},
    SettingRow{Changes::time_and_memory, "obsolete; --micro-batch-size is read", "batch_size"},
    SettingRow{Changes::time, "fewer tokens or layers in a part of training",
               "data_efficiency_ curriculum_learning_legacy random_ltd compression_training"},
    SettingRow{Changes::time_and_memory, "a teacher beside the model",
               "logits_load_dir logits_save_dir mos kd"},
    SettingRow{Changes::time_and_memory, "iterations with generation of text", "perform_rl_step"},
    SettingRow{Changes::time, "no training at all", "skip_train"},
    SettingRow{Changes::time, "collectives that send nothing", "fake_process_group"},
};

}  // namespace

std::span<const SettingRow> unmodelled_settings() { return unmodelled_rows; }

}  // namespace pipewright::jobs::megatron
