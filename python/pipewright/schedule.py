"""Schedules from the catalogue, from files and from lists of passes, and searches for better ones.

>>> from pipewright import schedule
>>> order = schedule.from_passes([["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B0", "1F1", "1B1"]])
>>> order.check().sound
True
>>> order.time(forward=1, backward=2).makespan_s
9.0
>>> run(Scenario(schedule=order, devices=2, microbatches=2, forward_times=1, backward_times=2))
>>> order.save("mine.csv")  # for PyTorch's pipeline_parallel_schedule_csv
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ._cells import Passes, rows_of
from ._chart import chart
from ._check import Check, checked, sound
from ._commands import PathLike, command, options, scenario_file
from ._display import Picture
from ._files import TextFile
from ._report import Report, save_text
from ._results import Result
from ._run import run
from ._scenario import Scenario
from ._table import Table
from .errors import ArgumentError, Error, ScheduleError, kind_of, naming_missing_files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Check",
    "Found",
    "Frontier",
    "Schedule",
    "catalogue",
    "from_csv",
    "from_passes",
    "frontier",
    "make",
    "names",
    "search",
]


class Schedule:
    """The passes of each device in order, for ``schedule`` of a scenario.

    Made by :func:`make`, :func:`from_passes`, :func:`from_csv` and :func:`search`. A notebook shows
    its timeline with passes of unit time.
    """

    #: Name of the schedule.
    name: str
    #: Number of devices, of microbatches per iteration, and of stages per device.
    devices: int
    microbatches: int
    chunks: int

    @property
    def csv(self) -> str:
        """PyTorch's schedule file; raises ScheduleError if it cannot express the schedule."""
        raise NotImplementedError

    def _value(self) -> Any:
        """Value for ``schedule`` of a scenario."""
        raise NotImplementedError

    @property
    def rows(self) -> list[list[str]]:
        """The passes of each device in order, as cells of PyTorch: ``"0F0"``."""
        return [
            [cell for cell in line.split(",") if cell] for line in self.csv.splitlines() if line
        ]

    def check(
        self,
        forward: Any = None,
        backward: Any = None,
        *,
        input_grad: Any = None,
        weight_grad: Any = None,
        p2p: Any = None,
        queue: str | None = None,
    ) -> Check:
        """Checks that the schedule is sound, and computes the cost of its order of receives.

        Times are those of a stage, one per device or per stage, in seconds. By default F, I and W
        take one cell and B two. ``queue`` is ``"rank"`` (all receives of a device
        complete in order) or ``"pair"`` (those from one device to another).
        """
        return checked(
            self.csv,
            self.name,
            forward_times=forward,
            backward_times=backward,
            input_grad_times=input_grad,
            weight_grad_times=weight_grad,
            p2p_time=p2p,
            queue=queue,
        )

    def time(
        self,
        forward: Any = 1,
        backward: Any = None,
        *,
        input_grad: Any = None,
        weight_grad: Any = None,
        p2p: Any = None,
        **keys: Any,
    ) -> Result:
        """Times the passes without contention: ``makespan_s``, ``bubble_ratio``, ``passes``.

        Times are those of a whole device, divided among its chunks: one for all, one per device, or
        one per stage, in seconds. By default each half of the backward takes as long as the
        forward. ``p2p`` is the time of a hop; ``keys`` are further keys of the scenario.

        >>> make("1f1b", 4, 9).time(forward=1, backward=2).bubble_ratio  # 3 of 12
        0.25
        """
        if backward is None and input_grad is None and weight_grad is None:
            input_grad = weight_grad = forward
        return run(
            Scenario(
                devices=self.devices,
                microbatches=self.microbatches,
                schedule=self._value(),
                forward_times=forward,
                backward_times=backward,
                input_grad_times=input_grad,
                weight_grad_times=weight_grad,
                p2p_time=p2p,
                **keys,
            )
        )

    @property
    def passes(self) -> NDArray[np.void]:
        """All passes with the default times of :meth:`time`, as an array."""
        return self.time().passes

    def to_csv(self) -> str:
        """PyTorch's schedule file, with passes only."""
        return self.csv

    def save(self, *files: PathLike) -> None:
        """Writes files by their extension: .csv (PyTorch's schedule file), or the files of a result
        of :meth:`time` (.svg, .png, .pdf, .html, .json, .h5)."""
        for file in files:
            if os.fspath(file).endswith(".csv"):
                save_text(file, self.csv)
            else:
                self.time().save(file)

    def picture(self) -> Picture:
        """A timeline for a notebook."""
        return self.time().picture()

    def __str__(self) -> str:
        return "\n".join(" ".join(row) for row in self.rows)

    def __repr__(self) -> str:
        return f"<Schedule {self.name}: {self.devices} devices x {self.microbatches} microbatches>"

    def _repr_html_(self) -> str:
        return self.picture()._repr_html_()


class NamedSchedule(Schedule, Mapping[str, Any]):
    """A schedule of the catalogue: the mapping for ``schedule`` of a scenario."""

    def __init__(self, devices: int, microbatches: int, spec: dict[str, Any]) -> None:
        self.name = spec["name"]
        self.devices, self.microbatches = devices, microbatches
        self._spec = spec
        self._csv: str | None = None
        self.chunks = self.time().chunks  # raises an error for impossible sizes

    @property
    def csv(self) -> str:
        if self._csv is None:
            arguments = {name: value for name, value in self._spec.items() if name != "name"}
            self._csv = command(
                *("schedule", "show", self.name, "--format", "csv"),
                *options(num_stages=self.devices, num_batches=self.microbatches, **arguments),
            ).text
        return self._csv

    def _value(self) -> Any:
        return dict(self._spec)

    def __getitem__(self, key: str) -> Any:
        return self._spec[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._spec)

    def __len__(self) -> int:
        return len(self._spec)


class FileSchedule(Schedule, TextFile):
    """A schedule from a list of passes: the path of its file."""

    def __init__(self, text: str, name: str, check: Check) -> None:
        TextFile.__init__(self, text, name + ".csv")
        self.name = name
        self.devices = check.summary["ranks"]
        self.microbatches = check.summary["microbatches"]
        self.chunks = check.summary["chunks"]

    @property
    def csv(self) -> str:
        return self.text

    def _value(self) -> Any:
        return os.fspath(self)

    def _check_sizes(self, devices: Any, microbatches: Any) -> None:
        """Raises if the scenario has other sizes than the passes."""
        for key, ours, theirs in (
            ("devices", self.devices, devices),
            ("microbatches", self.microbatches, microbatches),
        ):
            if isinstance(theirs, int) and theirs != ours:
                raise ScheduleError(
                    f"schedule {self.name} has {ours} {key}, but {key} of the scenario is {theirs}",
                    key=key,
                    remedy=f"{key}={ours}",
                )

    def save(self, *files: PathLike) -> None:
        for file in files:
            if os.fspath(file).endswith(".csv"):
                TextFile.save(self, file)
            else:
                Schedule.save(self, file)

    __str__ = Schedule.__str__
    __repr__ = Schedule.__repr__


def make(
    name: str,
    devices: int,
    microbatches: int,
    *,
    chunks: int | None = None,
    group_size: int | None = None,
    slices: int | None = None,
    recompute: int | None = None,
    fused: bool = False,
    barriers: int | None = None,
    layers_per_device: int | None = None,
    fold: int | None = None,
) -> Schedule:
    """Makes a schedule of the catalogue (see :func:`catalogue`).

    >>> make("interleaved-1f1b", 4, 8, chunks=2).rows[0][:5]
    ['0F0', '0F1', '0F2', '0F3', '4F0']
    """
    spec: dict[str, Any] = {"name": name, "chunks": chunks, "group_size": group_size}
    spec |= {"slices": slices, "recompute": recompute, "fused": fused or None}
    spec |= {"barriers": barriers, "layers_per_device": layers_per_device, "fold": fold}
    arguments = {key: value for key, value in spec.items() if value is not None}
    return NamedSchedule(int(devices), int(microbatches), arguments)


def from_passes(
    passes: Passes,
    devices: int | None = None,
    *,
    name: str = "passes",
    placement: str = "loop",
    legacy: bool = False,
) -> Schedule:
    """Makes a schedule from the list of passes of each device.

    A pass is a cell of PyTorch's schedule files, ``"3B12"`` (stage, kind, microbatch); or kind,
    microbatch and optionally chunk of this device: ``"B12"``, ``"B12.1"``, ``("B", 12)``,
    ``("B", 12, 1)``; or an ``_Action`` of PyTorch. Kinds are F (forward), B (backward), and the parts
    of a split backward, I (input gradient) and W (weight gradient). A tuple of two passes overlaps
    them. None or ``""`` is an idle step, used as padding. Chunks are placed as a ``"loop"`` (chunk c
    of device d is stage c x devices + d) or as a ``"v"`` (odd chunks in reverse).

    ``passes`` may also be a function of device and step, which returns a pass, or None at the end:

    >>> def gpipe(device, step):
    ...     return f"F{step}" if step < 4 else f"B{step - 4}" if step < 8 else None
    >>> from_passes(gpipe, devices=2).time(forward=1, backward=2).makespan_s
    15.0

    Raises :class:`ScheduleError` with ``device`` and ``step`` if a pass is missing, repeated or too
    early, and :class:`Deadlock` if devices wait for one another forever.
    """
    if not (callable(passes) or isinstance(passes, Mapping) or hasattr(passes, "__iter__")):
        allowed = "lists of passes, one for each device, or a function of device and step"
        raise ArgumentError(f"passes is {kind_of(passes)}", allowed=allowed)
    rows = rows_of(passes, devices, placement)
    if not any(rows):
        raise ScheduleError(
            "passes is empty; give the passes of each device",
            remedy='["F0 F1 B0 B1", "F0 B0 F1 B1"]',
        )
    text = "".join(",".join(row) + "\r\n" for row in rows)
    return FileSchedule(text, name, sound(text, name, is_file=False, legacy=legacy))


def from_csv(source: PathLike, *, legacy: bool = False) -> Schedule:
    """Reads a schedule file of PyTorch, or its text. In ``legacy`` files of 2024, B is the input
    gradient and BW the full backward.

    >>> from_csv("0F0,0B0\\n1F0,1B0\\n").devices
    2
    """
    if isinstance(source, str) and ("\n" in source or "," in source):
        text, name = source, "schedule"
    else:
        if not os.path.exists(source):
            with naming_missing_files(source):
                raise Error(f"{os.fspath(source)}: no such file")
        with open(source, encoding="utf-8", newline="") as file:
            text = file.read()
        name = os.path.splitext(os.path.basename(os.fspath(source)))[0]
    check = sound(text, name, legacy=legacy)
    if not legacy and check.summary["form"] == "compute_only":
        return FileSchedule(text, name, check)
    with TemporaryDirectory(prefix="pipewright-") as folder:
        path = os.path.join(folder, name + ".csv")
        save_text(path, text)
        words = ["schedule", "show", path, *options(format="csv", legacy=legacy)]
        words += options(num_stages=check.summary["ranks"])
        words += options(num_batches=check.summary["microbatches"])
        return FileSchedule(command(*words).text, name, check)


def names() -> list[str]:
    """Names of the schedules of the catalogue."""
    return [str(name) for name in catalogue()["schedule"]]


def catalogue(
    devices: int | None = None,
    microbatches: int | None = None,
    *,
    scenario: Any = None,
    forward: Any = None,
    input_grad: Any = None,
    weight_grad: Any = None,
    p2p: Any = None,
) -> Table:
    """Lists all schedules. With sizes or a scenario, it adds the figures of each without contention and
    with default options, or ``why_not``.

    >>> str(catalogue(4, 8).sort("makespan_s")["schedule"][0])
    'interleaved-zb'
    """
    arguments = dict(num_stages=devices, num_batches=microbatches, forward_times=forward)
    arguments |= dict(input_grad_times=input_grad, weight_grad_times=weight_grad, p2p_time=p2p)
    if scenario is None:
        spec = command("schedule", "list", "--json", *options(**arguments)).json()
    else:
        with scenario_file(scenario) as file:
            spec = command("schedule", "list", file, "--json", *options(**arguments)).json()
    return Table.of(spec)


class Found(Report):
    """Best order of a search: ``schedule``, ``makespan_s``, ``bubble_ratio``, ``lower_bound_s`` of all
    orders, and the ``gap`` to it."""

    makespan_s: float
    bubble_ratio: float
    lower_bound_s: float
    gap: float

    def __init__(self, summary: dict[str, Any], schedule: Schedule) -> None:
        super().__init__(summary)
        #: The order of passes, to be used as ``schedule`` of a scenario.
        self.schedule = schedule

    def _repr_html_(self) -> str:
        return self.schedule._repr_html_()


def _searched(scenario: Any, verb: str, arguments: dict[str, Any], words: Sequence[str]) -> Any:
    if scenario is None:
        return command("schedule", verb, "--json", "--quiet", *options(**arguments), *words).json()
    with scenario_file(scenario) as file:
        whole = ["schedule", verb, file, "--json", "--quiet", *options(**arguments), *words]
        return command(*whole).json()


def search(
    scenario: Any = None,
    *,
    devices: int | None = None,
    microbatches: int | None = None,
    forward: Any = None,
    input_grad: Any = None,
    weight_grad: Any = None,
    p2p: Any = None,
    memory_limit: Any = None,
    objective: str | None = None,
    effort: float | None = None,
) -> Found:
    """Searches for the best order of passes for given times, latency and memory, with a bound.

    ``memory_limit`` of a device is in microbatches (8.5) or bytes ("40 GiB"); the default is the
    memory of 1F1B. ``objective`` is makespan or span.

    >>> best = search(devices=4, microbatches=12, forward=[10, 11, 12, 14],
    ...                input_grad=[11, 11, 12, 15], weight_grad=[7, 8, 8, 10], memory_limit=3)
    >>> best.makespan_s, round(best.gap, 3)
    (490.0, 0.011)
    >>> best.schedule.save("best.csv")
    """
    arguments = dict(num_stages=devices, num_batches=microbatches, forward_times=forward)
    arguments |= dict(input_grad_times=input_grad, weight_grad_times=weight_grad, p2p_time=p2p)
    arguments |= dict(memory_limit=memory_limit, objective=objective, effort=effort)
    with TemporaryDirectory(prefix="pipewright-") as folder:
        file = os.path.join(folder, "best.csv")
        summary = _searched(scenario, "search", arguments, ["--output", file])
        return Found(summary, from_csv(file))


class Frontier(Report):
    """Trade-off of time and memory: ``points`` has the best order for each memory limit."""

    def __init__(self, points: list[dict[str, Any]]) -> None:
        figures = ("memory_limit", "makespan_s", "bubble_ratio", "span_bubble_s", "lower_bound_s")
        rows = [{name: point[name] for name in (*figures, "gap", "origin")} for point in points]
        super().__init__({"unit": points[0]["memory_limit_unit"], "points": rows})

    def __str__(self) -> str:
        return f"{self.points}\n"

    def _repr_html_(self) -> str:
        rows = self.summary["points"]
        line = [(row["memory_limit"], 100 * row["bubble_ratio"]) for row in rows]
        picture = chart([], line, None, f"memory of a device ({self.unit})", "bubble ratio (%)")
        return f"{self.points._repr_html_()}{picture}"


def frontier(
    scenario: Any = None,
    *,
    devices: int | None = None,
    microbatches: int | None = None,
    forward: Any = None,
    input_grad: Any = None,
    weight_grad: Any = None,
    p2p: Any = None,
    memory_limits: str | None = None,
    objective: str | None = None,
    effort: float | None = None,
) -> Frontier:
    """Searches for the best order for each of several memory limits: ``memory_limits`` is ``"4:16"``
    or ``"4:16:2"``, in microbatches or bytes.

    >>> frontier(devices=8, microbatches=32, forward=1, input_grad=1, weight_grad=1).points
    """
    arguments = dict(num_stages=devices, num_batches=microbatches, forward_times=forward)
    arguments |= dict(input_grad_times=input_grad, weight_grad_times=weight_grad, p2p_time=p2p)
    arguments |= dict(memory_limits=memory_limits, objective=objective, effort=effort)
    return Frontier(_searched(scenario, "frontier", arguments, []))
