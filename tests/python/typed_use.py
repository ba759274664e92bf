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

many = pw.run_many([scenario])
first: pw.Result = many.ok[0]
several: pw.Results = pw.runs(scenario)
tokens: float | None = first.tokens_per_s
error_range = first.expected_error
high: float = error_range["high"] if error_range is not None else 0.0
zero: int = first.job["zero"] if first.job is not None else 0
first.expected_error["hihg"]  # type: ignore[index,typeddict-item]
svg: str = first.plot.timeline().svg
chain: pw.Scenario = scenario.with_(microbatches=16).with_({"parallel.tp": 4})
has_layout: bool = "parallel" in chain
found = pw.search(scenario).run()
notes: list[str] = found.notes + pw.run(scenario, bar=False).notes
tokens_of_front: NDArray[np.void] = found.front["tokens_per_s"]
pw.run(cluster="dgx-h100")  # type: ignore[call-arg]
try:
    found.to_pandas()
except pw.MissingPackageError as missing:
    package: str | None = missing.name
best = found.best
if best is not None:
    best_time: float = best.makespan_s
    best_scenario: pw.Scenario = best.scenario
answer: pw.Comparison = pw.compare(first, "training.log", skip=1)
