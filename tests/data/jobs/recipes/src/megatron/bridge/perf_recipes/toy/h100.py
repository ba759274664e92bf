from megatron.bridge.recipes.toy import llama3_8b_pretrain_config, qwen3_30b_a3b_pretrain_config
from megatron.bridge.training.comm_overlap import CommOverlapConfig
from megatron.bridge.training.mixed_precision import bf16_with_mxfp8_mixed


def _graphs(cfg, *modules, impl="transformer_engine"):
    cfg.model.cuda_graph_impl = impl
    cfg.model.cuda_graph_scope = [*modules]


def qwen3_30b_a3b_pretrain_64gpu_h100_fp8mx_config():
    cfg = qwen3_30b_a3b_pretrain_config()
    cfg.mixed_precision = bf16_with_mxfp8_mixed()
    cfg.mixed_precision.grad_reduce_in_fp32 = False
    _graphs(cfg, "attn", "moe_router")
    cfg.model.recompute_modules = ["layernorm"]
    cfg.model.virtual_pipeline_model_parallel_size = 4
    cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=False)
    cfg.comm_overlap.overlap_moe_expert_parallel_comm = True
    cfg.train.global_batch_size = 512
    return cfg


def llama3_8b_pretrain_8gpu_h100_bf16_config():
    cfg = llama3_8b_pretrain_config()
    cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=True, overlap_param_gather=False)
    return cfg
