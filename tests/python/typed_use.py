"""Code of users for the type checker, with marked errors that it must find."""

import numpy as np
from numpy.typing import NDArray

import pipewright as pw

scenario = pw.Scenario(
    cluster="dgx-h100",
    model="llama-3-8b",
    parallel={"tp": 2, "pp": 4},
    microbatches=8,
    schedule=["1f1b", {"name": "interleaved-1f1b", "chunks": 2}],
    training={"recompute": "full"},
)
pw.Scenario(devices=4, microbatches=8, forward_times=[1, "18 ms"], backward_times=2)
pw.Scenario(engine="no-such-engine")  # type: ignore[arg-type]
pw.Scenario(symmetric="perhaps")  # type: ignore[arg-type]
pw.Scenario(microbatchs=8)  # type: ignore[call-arg]

passes: NDArray[np.void] = pw.run(scenario).passes
time: float = pw.run(scenario).makespan_s
error = pw.ScenarioError("no")
line: int | None = error.line
