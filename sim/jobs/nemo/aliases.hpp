#pragma once

#include <array>
#include <string_view>

namespace pipewright::jobs::nemo {

// Name in configurations of NeMo, Megatron-Bridge or MLPerf for a flag of Megatron-LM.
struct Alias {
  std::string_view name;  // last part of the dotted name
  std::string_view flag;
  bool inverted = false;  // the name is true where the flag is absent
  bool written = false;   // Megatron-Bridge's overrides use the name
};
inline constexpr std::array aliases{
    Alias{"num_moe_experts", "num_experts", false, true},
    Alias{"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers", false, true},
    Alias{"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers", false, true},
    Alias{"microbatch_group_size_per_vp_stage", "microbatch_group_size_per_virtual_pipeline_stage",
          false, true},
    Alias{"share_embeddings_and_output_weights", "untie_embeddings_and_output_weights", true, true},
    Alias{"add_bias_linear", "disable_bias_linear", true, true},
    Alias{"bias", "disable_bias_linear", true},
    Alias{"gated_linear_unit", "swiglu", false, true},
    Alias{"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank", false,
          true},
    Alias{"override_vocab_size", "vocab_size"},
    Alias{"encoder_seq_length", "seq_length"},
    Alias{"overlap_p2p_comm", "no_overlap_p2p_communication", true, true},
    Alias{"overlap_p2p_comm_warmup_flush", "overlap_p2p_communication_warmup_flush", false, true},
    Alias{"gradient_accumulation_fusion", "no_gradient_accumulation_fusion", true, true},
    Alias{"grad_reduce_in_fp32", "grad_reduce_in_bf16", true, true},
    Alias{"activations_checkpoint_granularity", "recompute_granularity"},
    Alias{"ub_tp_comm_overlap", "tp_comm_overlap"},
    Alias{"fp8", "fp8_format"},
    Alias{"fp4", "fp4_format"},
    Alias{"bucket_size", "ddp_bucket_size"},
    Alias{"fp8_param", "fp8_param_gather"},
    Alias{"fp8_params", "fp8_param_gather"},
    Alias{"use_flash_attention", "use_flash_attn"},
    Alias{"overlap_grad_sync", "overlap_grad_reduce"},
    Alias{"overlap_param_sync", "overlap_param_gather"},
    Alias{"account_for_embedding", "account_for_embedding_in_pipeline_split"},
    Alias{"rampup_batch_size", "rampup_batch_size"},
    Alias{"library", "tokenizer_library"},
    Alias{"data_parallel_sharding_strategy", "data_parallel_sharding_strategy"},
    Alias{"activation_offload_layers", "cpu_offloading_num_layers"},
    // Variables of MLPerf
    Alias{"TENSOR_MODEL_PARALLEL", "tensor_model_parallel_size"},
    Alias{"PIPELINE_MODEL_PARALLEL", "pipeline_model_parallel_size"},
    Alias{"INTERLEAVED_PIPELINE", "virtual_pipeline_model_parallel_size"},
    Alias{"CONTEXT_PARALLEL", "context_parallel_size"},
    Alias{"EXPERT_MODEL_PARALLEL", "expert_model_parallel_size"},
    Alias{"EXPERT_TENSOR_PARALLEL", "expert_tensor_parallel_size"},
    Alias{"SEQ_PARALLEL", "sequence_parallel"},
    Alias{"MICRO_BATCH_SIZE", "micro_batch_size"},
    Alias{"GLOBAL_BATCH_SIZE", "global_batch_size"},
    Alias{"MAX_SEQLEN", "seq_length"},
    Alias{"TP_COMM_OVERLAP", "tp_comm_overlap"},
    Alias{"ASYM_PP_EMBED", "account_for_embedding_in_pipeline_split"},
    Alias{"ASYM_PP_LOSS", "account_for_loss_in_pipeline_split"},
    Alias{"USE_DIST_OPTIMIZER", "use_distributed_optimizer"},
    Alias{"OVERLAP_GRAD_REDUCE", "overlap_grad_reduce"},
    Alias{"OVERLAP_PARAM_GATHER", "overlap_param_gather"},
    Alias{"FP8_DPA", "fp8_dot_product_attention"},
    Alias{"NVTE_DPA_FP8_RECIPE", "nvte_dpa_fp8_recipe"},
    Alias{"NVTE_FP8_DPA_BWD", "nvte_fp8_dpa_bwd"},
    Alias{"FP8_PARAMS", "fp8_param_gather"},
    Alias{"FP8_PARAM_GATHER", "fp8_param_gather"},
};

// Name for which no flag stands alone, with the scenario's keys that its value gives.
struct SpecialName {
  std::string_view name;
  std::string_view key;
};
inline constexpr std::array special_names{
    SpecialName{"mixed_precision", "training.precision"},
    SpecialName{"precision", "training.precision"},
    SpecialName{"compute_dtype", "training.precision"},
    SpecialName{"FP8", "training.precision"},
    SpecialName{"activation", "model.mlp"},
    SpecialName{"activation_func", "model.mlp"},
    SpecialName{"optim.name", "parallel.zero"},
    SpecialName{"grad_sync_dtype", "communication.gradient_bytes"},
    SpecialName{"tokenizer.type", "model.vocabulary"},
    SpecialName{"tokenizer.model", "model.vocabulary"},
    SpecialName{"fsdp", "parallel.zero"},
    SpecialName{"megatron_fsdp", "parallel.zero"},
    SpecialName{"PYTORCH_CUDA_ALLOC_CONF", "training.fragmentation"},
    SpecialName{"PYTORCH_ALLOC_CONF", "training.fragmentation"},
    SpecialName{"num_nodes", "parallel.dp"},
    SpecialName{"trainer.devices", "parallel.dp"},
    SpecialName{"num_gpus_per_node", "parallel.dp"},
    SpecialName{"gpus_per_node", "parallel.dp"},
    SpecialName{"DGXNNODES", "parallel.dp"},
    SpecialName{"DGXNGPU", "parallel.dp"},
};

}  // namespace pipewright::jobs::nemo
