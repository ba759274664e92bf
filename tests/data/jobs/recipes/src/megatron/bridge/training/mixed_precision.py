from dataclasses import dataclass
from typing import Callable

from .precision_base import PrecisionBase

REGISTRY: dict[str, Callable] = {}


@dataclass(kw_only=True)
class MixedPrecisionConfig(PrecisionBase):
    """Precision of a job."""

    grad_reduce_in_fp32: bool = True
    fp8_recipe: str = "tensorwise"


def register(function):
    REGISTRY[function.__name__] = function
    return function


@register
def bf16_mixed():
    return MixedPrecisionConfig(bf16=True)


@register
def bf16_with_mxfp8_mixed():
    cfg = bf16_mixed()
    cfg.fp8 = "hybrid"
    cfg.fp8_recipe = "mxfp8"
    return cfg


def by_name(name: str):
    if name not in REGISTRY:
        raise ValueError(f"no precision {name!r}; known: {', '.join(sorted(REGISTRY))}")
    return REGISTRY[name]()
