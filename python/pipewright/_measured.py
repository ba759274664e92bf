"""Scenarios and GPUs from measured runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from tempfile import TemporaryDirectory
from typing import Any

from ._commands import PathLike, command, options, scenario_file, several, word_of
from ._display import text_html
from ._files import TextFile
from ._scenario import Scenario
from .errors import naming_missing_files
from .schedule import Schedule, from_csv


class Profile(Scenario):
    """A scenario from a measured run, with devices, microbatches, schedule and pass times.

    >>> measured = profile("profile/rank{rank}.json.gz", skip=1)
    >>> runs(measured.with_(p2p_time="0.2 ms", schedule=["1f1b", "gpipe"]))
    """

    __slots__ = ("text", "order", "notes")

    #: The scenario as YAML, with the spread of each time.
    text: str
    #: The measured order of passes as a schedule; None if a PyTorch file cannot express it.
    order: Schedule | None
    #: Notes on the measured run, and what the command printed.
    notes: list[str]

    def _facts(self) -> tuple[str, ...]:
        return self.__slots__


def profile(
    files: PathLike | Iterable[PathLike],
    *,
    into: Scenario | Mapping[str, Any] | PathLike | None = None,
    trace: PathLike | None = None,
    skip: int | None = None,
    **more: Any,
) -> Profile:
    """Reads pass times from a profile of PyTorch or Primus, or from a Chrome trace.

    ``files`` are one file per pipeline device (``"rank{rank}.json"`` stands for all), or a single
    file. ``into`` is a scenario that gets the measured times, ``trace`` an .h5 for the run.
    ``more`` are the other options of ``pipewright profile``: ``run``, ``pattern``, ``category``,
    ``microbatches``, ``align``.
    """
    words = ["profile", *map(word_of, several(files)), *options(skip=skip, **more)]
    missing = naming_missing_files(*several(files))
    with TemporaryDirectory(prefix="pipewright-") as folder, missing:
        file = os.path.join(folder, "order.csv")
        command(*words, "--order", file)
        order = from_csv(file) if os.path.exists(file) else None
    words += options(trace=trace)
    if into is None:
        output = command(*words)
    else:
        with scenario_file(into) as file:
            output = command(*words, "--into", file)
    measured = Profile.from_yaml(output.text)
    measured.text, measured.order = output.text, order
    in_text = (line.partition("# note: ")[2] for line in output.text.splitlines())
    measured.notes = [*output.notes, *filter(None, in_text)]
    return measured


class Gpu(TextFile):
    """A GPU file for ``gpu`` of a scenario; ``report`` explains its numbers."""

    def __init__(self, text: str, report: str) -> None:
        super().__init__(text, "gpu.yaml")
        self.report = report

    def _repr_html_(self) -> str:
        return text_html(self.report)


def calibrate(
    files: PathLike | Iterable[PathLike],
    scenario: Scenario | Mapping[str, Any] | PathLike,
    *,
    skip: int | None = None,
    **more: Any,
) -> Gpu:
    """Calibrates the GPU of a scenario with the kernels of a measured run.

    >>> gpu = calibrate("profile/rank{rank}.json.gz", "gpt.yaml")  # doctest: +SKIP
    >>> run(larger.with_(gpu=gpu))  # doctest: +SKIP
    """
    words = ["profile", *map(word_of, several(files)), *options(skip=skip, **more)]
    with TemporaryDirectory(prefix="pipewright-") as folder, scenario_file(scenario) as scenario_path:
        file = os.path.join(folder, "gpu.yaml")
        output = command(*words, "--calibrate", scenario_path, "--gpu-file", file)
        with open(file, encoding="utf-8") as stream:
            return Gpu(stream.read(), output.text)
