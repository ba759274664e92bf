import torch
from megatron.core.distributed import DistributedDataParallelConfig

from megatron.bridge.training.config import ConfigContainer, TrainingConfig


def pretrain_common(**kwargs):
    train = {"micro_batch_size": 2, "global_batch_size": 32}
    train.update(kwargs)
    return ConfigContainer(
        train=TrainingConfig(**train),
        ddp=DistributedDataParallelConfig(use_distributed_optimizer=True, overlap_grad_reduce=False),
    )


def spread(model, layers, tail=1):
    """Deals the layers over the stages, with `tail` of them beside the loss."""
    stages = model.pipeline_model_parallel_size * (model.virtual_pipeline_model_parallel_size or 1)
    share, rest = divmod(layers - tail, stages - 1)
    layout = [["decoder"] * (share + (1 if i < rest else 0)) for i in range(stages - 1)]
    layout[0] = ["embedding"] + layout[0]
    model.pipeline_model_parallel_layout = layout + [["decoder"] * tail + ["loss"]]


def on_devices(cfg):
    if torch.cuda.is_available():
        cfg.model.recompute_granularity = "full"
    else:
        cfg.model.recompute_granularity = "selective"
