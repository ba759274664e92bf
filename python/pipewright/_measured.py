"""Runs that were measured, as scenarios and GPUs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from tempfile import TemporaryDirectory
from typing import Any

from ._commands import PathLike, command, options, scenario_file, several, word_of
from ._display import text_html
from ._files import TextFile
from ._scenario import Scenario
from .schedule import Schedule, from_csv


class Profile(Scenario):
    """The scenario that a measured run says: devices, microbatches, schedule, times of passes.

    >>> measured = profile("profile/rank{rank}.json.gz", skip=1)
    >>> run(measured.with_(p2p_time="0.2 ms", schedule=["1f1b", "gpipe"]))
    """

    __slots__ = ("text", "order", "notes")

    #: The scenario as YAML, with how far each time spreads.
    text: str
    #: The order of passes that was measured; None where no file of PyTorch can say it.
    order: Schedule | None
    #: What a reader should know.
    notes: list[str]

    def with_(self, changes: Mapping[str, Any] | None = None, /, **keys: Any) -> Profile:
        made = super().with_(changes, **keys)
        assert isinstance(made, Profile)
        for name in self.__slots__:
            setattr(made, name, getattr(self, name))
        return made


def profile(
    files: PathLike | Iterable[PathLike],
    *,
    into: Scenario | Mapping[str, Any] | PathLike | None = None,
    trace: PathLike | None = None,
    skip: int | None = None,
    **more: Any,
) -> Profile:
    """Pass times for a scenario from a run of PyTorch's profiler or of Primus, or a Chrome file.

    ``files`` is one for each pipeline device (``"rank{rank}.json"`` stands for all), or one of all.
    ``into`` is a scenario that gets the measured times; ``trace`` an .h5 to write the run to.
    ``more`` are the other options of ``pipewright profile``: ``run``, ``pattern``, ``category``,
    ``microbatches``, ``align``.
    """
    words = ["profile", *map(word_of, several(files)), *options(skip=skip, **more)]
    with TemporaryDirectory(prefix="pipewright-") as folder:
        file = os.path.join(folder, "order.csv")
        command(*words, "--order", file)
        order = from_csv(file) if os.path.exists(file) else None
    words += options(trace=trace)
    if into is None:
        output = command(*words)
    else:
        with scenario_file(into) as file:
            output = command(*words, "--into", file)
    made = Profile.from_yaml(output.text)
    assert isinstance(made, Profile)
    made.text, made.notes, made.order = output.text, output.notes, order
    return made


class Gpu(TextFile):
    """A GPU file: stands for ``gpu`` of a scenario. ``report`` says how it came about."""

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
    """The GPU of a scenario with the factors that the kernels of a measured run give.

    >>> gpu = calibrate("profile/rank{rank}.json.gz", "gpt.yaml")  # doctest: +SKIP
    >>> run(larger.with_(gpu=gpu))  # doctest: +SKIP
    """
    words = ["profile", *map(word_of, several(files)), *options(skip=skip, **more)]
    with TemporaryDirectory(prefix="pipewright-") as folder, scenario_file(scenario) as given:
        file = os.path.join(folder, "gpu.yaml")
        output = command(*words, "--calibrate", given, "--gpu-file", file)
        with open(file, encoding="utf-8") as stream:
            return Gpu(stream.read(), output.text)
