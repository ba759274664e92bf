"""Types of figures that are dicts; ``analysis/metrics.md`` defines them."""

from __future__ import annotations

from typing import TypedDict


class JobFigures(TypedDict, total=False):
    """What is trained, and in which layout; sizes of samples are 0 without a model."""

    model: str
    gpu: str
    stack: str
    tp: int
    tp_by_device: str
    cp: int
    ep: int
    etp: int
    dp: int
    replicate: int
    gtp: int
    expert_gtp: int
    pp: int
    sp: bool
    zero: int
    global_batch_samples: int
    microbatch_samples: int
    sequence_tokens: int
    precision: str
    cuda_graphs: str
    flash_attention: bool
    recompute: str
    offload: str
    optimizer: str
    trained: str
    partition: str
    symmetric: bool
    lengths: str
    padding: float
    dispatch: str
    routing: str
    uneven: float
    straddling: str
    outside_record: str


class ExpectedError(TypedDict):
    """Range of measured / predicted time, minus 1, in which the part ``nominal`` of ``rows`` measured
    runs lies; ``basis`` is their kind."""

    low: float
    high: float
    nominal: float
    median: float
    scatter: float
    basis: str
    rows: int


class ExposedFigures(TypedDict):
    """Exposed communication of a device, in seconds."""

    p2p_s: float
    in_passes_s: float
    gradients_s: float
    weights_s: float


class DeviceFigures(TypedDict, total=False):
    """Times in seconds and memory in bytes of a device."""

    device: int
    host: str
    passes: int
    busy_s: float
    start_s: float
    end_s: float
    exposed_communication_s: float
    exposed: ExposedFigures
    optimizer_step_s: float
    peak_in_flight: float
    peak_memory_bytes: int
    peak_allocated_bytes: int
    at_peak_bytes: dict[str, int]
    peak_time_s: float
    memory_capacity_bytes: int
    fits: bool
    over_since_s: float | None


class PassCollective(TypedDict, total=False):
    """Collectives of one kind in passes: calls and bytes of a GPU, and the least and the largest of
    all devices, in seconds."""

    group: str
    operation: str
    calls: int
    bytes: int
    seconds: list[float]
    exposed_s: list[float]
