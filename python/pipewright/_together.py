"""Several jobs on one cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import Any

from ._commands import Output, PathLike, command, options, scenario_file
from ._report import Report

__all__ = ["Together", "run_together"]


class Together(Report):
    """Slow-downs of jobs that share a cluster: ``jobs``, and ``phases`` with the shared links.

    ``save`` writes .html, a page with all jobs of the worst phase on one time axis, or .json.
    """

    def __init__(
        self, scenarios: Mapping[str, Any], arguments: Mapping[str, Any], summary: Any, output: Output
    ) -> None:
        super().__init__(summary, output.text, output.notes)
        self._scenarios = scenarios
        self._arguments = arguments

    def save(self, *files: PathLike) -> None:
        """Writes the report, each file by its extension."""
        for file in files:
            _command(self._scenarios, self._arguments, file)


def _command(scenarios: Mapping[str, Any], arguments: Mapping[str, Any], file: PathLike) -> Output:
    with ExitStack() as stack:
        files = [
            stack.enter_context(scenario_file(scenario, f"{name}.yaml"))
            for name, scenario in scenarios.items()
        ]
        output = command("run", *files, "--together", "--output", file, *options(**arguments))
    return output


def run_together(
    scenarios: Mapping[str, Any] | Iterable[Any],
    *,
    placing: str | None = None,
    phases: int | None = None,
    phase: float | Iterable[float] | None = None,
    jobs: int | None = None,
    **more: Any,
) -> Together:
    """Simulates jobs on one cluster, by name or as a list: together, and each without the others.

    ``placing`` is ``"side-by-side"`` or ``"interleaved"``. ``phases`` is the number of offsets between
    the iterations of the jobs, and ``phase`` gives them as parts of an iteration. ``jobs`` is the
    number of simulations at a time. ``more`` are options of ``pipewright run``.

    >>> job = Scenario(cluster="dgx-h100", devices=2, microbatches=2, forward_times="1 ms",
    ...                backward_times="2 ms", boundary_tensor="1 GB")
    >>> report = run_together({"a": job, "b": job}, phases=2)
    >>> [float(slow_down) for slow_down in report.jobs["slow_down_most"]]
    [1.0, 1.0]
    """
    if not isinstance(scenarios, Mapping):
        scenarios = {f"job-{number}": job for number, job in enumerate(scenarios, start=1)}
    arguments = dict(placing=placing, phases=phases, phase=phase, jobs=jobs, **more)
    with TemporaryDirectory(prefix="pipewright-") as folder:
        file = os.path.join(folder, "together.json")
        output = _command(scenarios, arguments, file)
        with open(file, encoding="utf-8") as stream:
            summary = json.load(stream)
    lines = [line for line in output.text.splitlines() if folder not in line]
    text = "\n".join(lines) + "\n"
    return Together(scenarios, arguments, summary, Output(output.status, text, output.notes))
