from dataclasses import dataclass
from typing import Optional


@dataclass(kw_only=True)
class CommOverlapConfig:
    tp_comm_overlap: bool
    overlap_grad_reduce: Optional[bool] = None
    overlap_param_gather: Optional[bool] = None
    overlap_moe_expert_parallel_comm: Optional[bool] = None
    delay_wgrad_compute: Optional[bool] = None
