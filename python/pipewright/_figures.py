"""Figures of runs and reports as attributes."""

from __future__ import annotations

from typing import Any

from ._typed_figures import DeviceFigures, ExpectedError, JobFigures, PassCollective
from ._words import nearest


#: Figures that have another name in other tools and files, with the name used here.
_RENAMED = {
    "time_s": "makespan_s",
    "iteration_s": "makespan_s",
    "peak_bytes": "peak_memory_bytes",
    "peak_memory": "peak_memory_bytes",
    "memory_bytes": "peak_memory_bytes",
}


class Figures:
    """Offers the figures of ``summary`` as attributes."""

    summary: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for while an object is copied, before it has figures
            raise AttributeError(name)
        summary = self.__dict__.get("summary", {})
        if name in summary:
            return summary[name]
        names = [public for public in dir(self) if not public.startswith("_")]
        near = _RENAMED.get(name) or nearest(name, names)
        remedy = f"did you mean {near!r}?" if near in names else f"there are {', '.join(names)}"
        raise AttributeError(f"there is no {name!r}; {remedy}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__dict__.get("summary", {})})


class RunFigures(Figures):
    """Figures of a run, defined in ``analysis/metrics.md``. Unknown figures are None.

    The run:
        schedule, num_stages (devices), num_batches (microbatches), chunks, iterations, replicas,
        gpus, engine, p2p, network, job (model, sizes of its parallelism, recipe, ..)
    Its time:
        makespan_s (seconds), bubble_ratio (1 - busy / (devices x makespan)), span_bubble_s
        (seconds), samples_per_s, tokens_per_s, exposed_communication_s (seconds, of the device with the
        largest value)
    Per GPU:
        model_flops_per_gpu (FLOP/s), mfu (of the 16-bit peak, causal attention counted once),
        mfu_precision (of the peak of the recipe's type), hfu (including recomputation),
        full_attention_flops_per_gpu and mfu_full_attention (counting all attention scores)
    Memory:
        peak_memory_bytes (of the fullest device; None if memory is not modelled), fits (on
        every device)
    Details:
        devices and pass_collectives, lists of dicts; expected_error, a dict with low, high and
        median of measured / predicted - 1, nominal (the share of measured runs in between),
        basis (their kind), rows (their number) and scatter, or None; assumed and assumed_gpu,
        numbers of the GPU file without a source; versions, definitions
    """

    schedule: str
    num_stages: int
    num_batches: int
    chunks: int
    iterations: int
    replicas: int
    gpus: int
    engine: str
    p2p: str
    network: str
    job: JobFigures | None
    expected_error: ExpectedError | None
    assumed: list[str]
    assumed_gpu: str
    makespan_s: float
    bubble_ratio: float
    span_bubble_s: float
    samples_per_s: float | None
    tokens_per_s: float | None
    model_flops_per_gpu: float | None
    mfu: float | None
    full_attention_flops_per_gpu: float | None
    mfu_full_attention: float | None
    mfu_precision: float | None
    hfu: float | None
    exposed_communication_s: float
    fits: bool | None
    devices: list[DeviceFigures]
    pass_collectives: list[PassCollective]
    versions: str
    definitions: str

    @property
    def peak_memory_bytes(self) -> int | None:
        """Peak memory of the fullest device, in bytes."""
        peaks = [
            device["peak_memory_bytes"]
            for device in self.devices
            if device.get("peak_memory_bytes")
        ]
        return max(peaks, default=None)
