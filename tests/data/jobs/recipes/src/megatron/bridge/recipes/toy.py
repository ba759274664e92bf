from megatron.bridge import AutoBridge
from megatron.bridge.recipes.common import on_devices, pretrain_common, spread
from megatron.bridge.training.comm_overlap import CommOverlapConfig
from megatron.bridge.training.flex_dispatcher_backend import apply_flex_dispatcher_backend

__all__ = ["llama3_8b_pretrain_config", "toy_lite_pretrain_config"]

SIZES = {"8b": (2, 1), "70b": (4, 4)}


def _llama(size, sequence=8192):
    cfg = pretrain_common(global_batch_size=64)
    cfg.model = AutoBridge.from_hf_pretrained(f"meta-llama/Meta-Llama-3-{size.upper()}").get_model_config()
    tp, pp = SIZES[size]
    cfg.model.tensor_model_parallel_size = tp
    cfg.model.pipeline_model_parallel_size = pp
    cfg.model.sequence_parallel = tp > 1
    cfg.model.seq_length = sequence
    return cfg


def llama3_8b_pretrain_config():
    cfg = _llama("8b")
    cfg.model.context_parallel_size = 2
    cfg.train.micro_batch_size //= 2
    return cfg


def llama3_70b_pretrain_16k_config():
    cfg = _llama("70b", sequence=16_384)
    spread(cfg.model, cfg.model.num_layers)
    cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=True)
    return cfg


def qwen3_30b_a3b_pretrain_config():
    cfg = pretrain_common()
    cfg.model = AutoBridge.from_hf_pretrained("Qwen/Qwen3-30B-A3B").to_megatron_provider(load_weights=False)
    for name, value in [("tensor", 1), ("pipeline", 2), ("expert", 8)]:
        setattr(cfg.model, f"{name}_model_parallel_size", value)
    cfg.model.moe_token_dispatcher_type = "alltoall"
    cfg.model.moe_flex_dispatcher_backend = "hybridep"
    apply_flex_dispatcher_backend(cfg.model, cfg.model.moe_flex_dispatcher_backend)
    return cfg


def toy_lite_pretrain_config():
    cfg = pretrain_common()
    cfg.model = AutoBridge.from_hf_pretrained("deepseek-ai/DeepSeek-V2-Lite").to_megatron_provider()
    cfg.model.tensor_model_parallel_size = 1
    cfg.model.pipeline_model_parallel_size = 1
    return cfg


def unsure_pretrain_config():
    cfg = _llama("8b")
    on_devices(cfg)
    return cfg


def unknown_size_pretrain_config():
    cfg = _llama("8b")
    cfg.model.tensor_model_parallel_size = gpus_of_this_node()
    return cfg


def wrong_pretrain_config():
    from megatron.bridge.training.mixed_precision import by_name

    cfg = _llama("8b")
    cfg.mixed_precision = by_name("fp5")
    return cfg
