"""Results of runs."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from . import _display, _worker
from ._figures import RunFigures
from ._plot import Plot
from ._scenario import Scenario
from ._files import bring_along_all
from ._table import Table, optional
from ._swept import swept_values
from ._tables import Tables, unit_of
from .errors import Error, UnknownNameError

if TYPE_CHECKING:
    import numpy as np
    import pandas
    import polars
    import xarray
    from numpy.typing import NDArray


class RunOutputs:
    """Outputs of one run or of several runs side by side."""

    def _shown_runs(self) -> Sequence[Result]:
        raise NotImplementedError

    def _ask(
        self, what: str, more: dict[str, Any] | None = None, on_message: _worker.MessageHandler | None = None
    ) -> dict[str, Any]:
        runs = [(run.summary, run._rows()) for run in self._shown_runs()]
        described = [{"run": summary, "packing": rows.packing} for summary, rows in runs]
        with contextlib.ExitStack() as opened:
            files = [opened.enter_context(rows.file()) for _, rows in runs]
            answer = _worker.request(what, {"runs": described, **(more or {})}, on_message, files)
        return answer

    def save(self, *files: str | os.PathLike[str], picture: str = "timeline") -> None:
        """Writes files by their extension, as ``pipewright run -o`` does: .html (the page), .svg,
        .png and .pdf (a picture), .json and .csv (the summary), and .h5 (the trace).

        ``picture`` is ``timeline``, ``memory``, ``tradeoff`` or ``bubbles``.

        >>> result.save("run.html", "run.h5")
        """
        for file in files:
            self._ask("save", {"file": os.fspath(file), "picture": picture})
        bring_along_all(files)

    @property
    def plot(self) -> Plot:
        """Pictures for a notebook: ``plot.timeline()``, ``plot.memory()``, ``plot.tradeoff()`` and
        ``plot.bubbles()``."""
        return Plot(self.picture)

    def page(self, height: int = 720) -> _display.Page:
        """The page of the program in a frame, with timeline, memory, links and why."""
        return _display.Page(_saved_bytes(self, ".html"), height)

    def picture(self, kind: str = "timeline") -> _display.Picture:
        """A picture for a notebook: ``timeline``, ``memory``, ``tradeoff`` or ``bubbles``."""
        return _display.Picture(_saved_bytes(self, ".svg", kind))

    def __str__(self) -> str:
        return str(self._ask("describe")["text"])

    def _repr_html_(self) -> str:
        notes = dict.fromkeys(note for run in self._shown_runs() for note in run.notes)
        return _display.runs_html(self._ask("describe"), list(notes), self.picture())


def _saved_bytes(runs: RunOutputs, extension: str, picture: str = "timeline") -> bytes:
    """The content of the file that ``save`` writes for this extension."""
    with tempfile.TemporaryDirectory(prefix="pipewright-") as folder:
        file = os.path.join(folder, "run" + extension)
        runs.save(file, picture=picture)
        with open(file, "rb") as stream:
            return stream.read()


class Result(RunFigures, RunOutputs):
    """One run, with its figures as attributes and its rows as numpy arrays.

    >>> result = run(Scenario(devices=4, microbatches=8, forward_times=1, backward_times=2))
    >>> result.makespan_s
    33.0
    >>> float(result.passes["end"].max())
    33.0
    >>> sum(result.to_pandas("passes").kind == "F")
    32

    A notebook shows its table and its timeline.
    """

    def __init__(
        self,
        summary: dict[str, Any],
        tables: Tables | None,
        took_s: float,
        again: Callable[[], Result] | None = None,
    ) -> None:
        #: All figures, as ``pipewright run --json`` prints them.
        self.summary = summary
        #: Notes on the run.
        self.notes: list[str] = []
        #: Seconds of real time for planning and simulation.
        self.took_s = took_s
        self._tables = tables
        self._again = again

    @property
    def scenario(self) -> Scenario:
        """The scenario of this run, with absolute paths and a single schedule."""
        text: str = self._rows().packing["info"]["scenario"]
        scenario = Scenario.from_yaml(text)
        if len(scenario.schedules) == 1:
            return scenario
        listed = scenario["schedule"]
        return scenario.with_(schedule=listed[scenario.schedules.index(self.schedule)])

    def _rows(self) -> Tables:
        if self._tables is None:
            assert self._again is not None
            self._tables = self._again()._rows()
        return self._tables

    def _shown_runs(self) -> Sequence[Result]:
        return [self]

    def table(self, name: str) -> NDArray[np.void]:
        """The rows of a table of the trace file, read-only; ``tables`` lists the names.

        Columns of kinds are codes; :meth:`kinds` has their names. A run without rows is simulated
        again, with the same outcome.
        """
        if name not in self.tables:
            raise UnknownNameError(
                f"there is no table {name!r}", key=name, allowed=", ".join(self.tables)
            )
        return self._rows().array(name)

    def save_trace(self, file: str | os.PathLike[str]) -> None:
        """Writes the trace to a file with any extension."""
        self._ask("save", {"file": os.fspath(file), "is_trace": True})

    @property
    def tables(self) -> list[str]:
        """Names of all tables."""
        return self._rows().names()

    def kinds(self, table: str) -> dict[str, list[str]]:
        """Names of codes: ``result.kinds("passes")["kind"][0]`` is ``"F"``."""
        return self._rows().kinds(table)

    def units(self, table: str = "passes") -> dict[str, str]:
        """The unit of each column of a table; empty for numbers of devices and other names.

        >>> result.units("transfers")["bytes"], result.units()["start"], result.units()["stage"]
        ('bytes', 's', '')
        """
        return {name: unit_of(name, kind[0]) for name, kind in _fields(self.table(table))}

    @property
    def passes(self) -> NDArray[np.void]:
        """Passes: device, stage, chunk, microbatch, iteration, kind; sent, ready, start, end and
        released in seconds."""
        return self.table("passes")

    @property
    def transfers(self) -> NDArray[np.void]:
        """Transfers of boundary tensors: source, destination, stage, microbatch, kind, bytes;
        posted, start and end in seconds."""
        return self.table("transfers")

    @property
    def memory(self) -> NDArray[np.void]:
        """Memory changes: from ``time`` (seconds) on, ``device`` holds ``bytes`` of ``category``."""
        return self.table("memory")

    @property
    def collectives(self) -> NDArray[np.void]:
        """Collectives outside passes: reductions of gradients, gathering of weights."""
        return self.table("collectives")

    @property
    def steps(self) -> NDArray[np.void]:
        """End of each iteration by device: reduction of gradients, optimizer step."""
        return self.table("steps")

    @property
    def waits(self) -> NDArray[np.void]:
        """Waits for other replicas: iteration, event, stage, and the replica and device that were last
        at ``time`` (seconds)."""
        return self.table("waits")

    @property
    def links(self) -> NDArray[np.void]:
        """Links with traffic: name, class, number of equivalent links, bytes/s."""
        return self.table("links")

    @property
    def link_use(self) -> NDArray[np.void]:
        """Traffic of a link by class and interval of time."""
        return self.table("link_use")

    def to_pandas(self, table: str = "passes") -> pandas.DataFrame:
        """A table as a pandas data frame with names for codes; ``"devices"`` has figures by device."""
        pd = optional("pandas", "to_polars() or the arrays themselves")

        if table == "devices":
            return pd.DataFrame(self.devices)
        self.table(table)
        columns = {}
        for name, values in self._rows().columns(table).items():
            if isinstance(values, tuple):
                codes, names = values
                columns[name] = pd.Categorical.from_codes(codes.astype("i1"), names)
            else:
                columns[name] = values
        frame = pd.DataFrame(columns)
        frame.attrs["units"] = self.units(table)
        return frame

    def to_xarray(self, table: str = "passes") -> xarray.Dataset:
        """A table as a dataset of xarray with a variable per column and its unit; the rows are the
        dimension ``row``."""
        xr = optional("xarray", "to_pandas() or the arrays themselves with units()")
        frame, units = self.to_pandas(table), self.units(table)
        variables = {
            name: ("row", frame[name].to_numpy(), {"units": units[name]} if units[name] else {})
            for name in frame.columns
        }
        return xr.Dataset(variables)

    def to_polars(self, table: str = "passes") -> polars.DataFrame:
        """A table as a polars data frame with names for codes."""
        import numpy as np

        pl = optional("polars", "to_pandas() or the arrays themselves")
        self.table(table)
        columns = []
        for name, values in self._rows().columns(table).items():
            if isinstance(values, tuple):
                codes, names = values
                texts = pl.Series(name, np.array(names, dtype=object)[codes], dtype=pl.Utf8)
                columns.append(texts.cast(pl.Categorical))
            else:
                columns.append(pl.Series(name, np.ascontiguousarray(values)))
        return pl.DataFrame(columns)

    def __repr__(self) -> str:
        return f"<Result {self.schedule}: {self.makespan_s:.6g} s>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, (self.summary, self._rows(), self.took_s, self.notes))


def _fields(array: NDArray[np.void]) -> list[tuple[str, Any]]:
    return list((array.dtype.fields or {}).items())


def _unpickled(
    summary: dict[str, Any], tables: Tables, took_s: float, notes: list[str]
) -> Result:
    result = Result(summary, tables, took_s)
    result.notes = notes
    return result


class Results(Sequence[Result], RunOutputs):
    """Runs of the schedules of a scenario in order; a notebook shows them side by side.

    >>> results = runs(scenario.with_(schedule=["1f1b", "gpipe"]))
    >>> min(results, key=lambda run: run.makespan_s).schedule
    '1f1b'
    """

    def __init__(self, runs: Sequence[Result]) -> None:
        self._runs = list(runs)

    def _shown_runs(self) -> Sequence[Result]:
        return self._runs

    @overload
    def __getitem__(self, index: int | str) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> Results: ...
    def __getitem__(self, index: int | str | slice) -> Result | Results:
        """A run by its index, or the first run of a schedule by its name."""
        if isinstance(index, slice):
            return Results(self._runs[index])
        if isinstance(index, str):
            names = [run.schedule for run in self._runs]
            if index not in names:
                raise UnknownNameError(
                    f"no run has the schedule {index!r}", key=index, allowed=", ".join(names)
                )
            return self._runs[names.index(index)]
        return self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._runs)

    def __getattr__(self, name: str) -> Any:
        """A figure of all runs as a list: ``runs.makespan_s``."""
        if name.startswith("_"):
            raise AttributeError(name)
        return [getattr(run, name) for run in self]

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with a row per run and a column per figure."""
        pd = optional("pandas", ".table")
        return pd.DataFrame([_numbers(run) for run in self])

    @property
    def table(self) -> Table:
        """A table with a row per run and a column per figure."""
        return Table.of([_numbers(run) for run in self])

    def __repr__(self) -> str:
        return f"<Results {', '.join(map(repr, self))}>"


class Many(list["Result | Error"]):
    """List of results, with an :class:`Error` for each scenario that cannot run.

    >>> results = run_many([scenario, scenario.with_(schedule="no-such-schedule")])
    >>> len(results.ok), list(results.errors)
    (1, [1])
    """

    #: For each entry, the index of its scenario: one with several schedules has several entries.
    numbers: list[int]
    #: For each scenario, the values of the keys in which the scenarios differ.
    swept: list[dict[str, Any]]

    @classmethod
    def of(cls, entries: Sequence[Sequence[Result | Error]], scenarios: Sequence[Any]) -> Many:
        """A list of the results of each scenario."""
        many = cls(entry for several in entries for entry in several)
        many.numbers = [number for number, several in enumerate(entries) for _ in several]
        many.swept = swept_values(scenarios)
        return many

    @property
    def ok(self) -> list[Result]:
        """All results without errors."""
        return [entry for entry in self if not isinstance(entry, Error)]

    @property
    def errors(self) -> dict[int, Error]:
        """Errors by index in the list."""
        return {index: entry for index, entry in enumerate(self) if isinstance(entry, Error)}

    @property
    def table(self) -> Table:
        """A table with a row per run: the index of its scenario (``number``), the keys in which the
        scenarios differ, the job, and the figures or the ``error``."""
        rows: list[dict[str, Any]] = []
        for number, entry in zip(self.numbers, self):
            figures = {"error": str(entry)} if isinstance(entry, Error) else _numbers(entry)
            rows.append({"number": number, **self.swept[number], **figures})
        return Table.of(rows)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a data frame."""
        return self.table.to_pandas()

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


#: Values of the job that tables of runs have as columns.
_JOB = ("model", "gpu", "stack", "tp", "cp", "pp", "dp", "ep", "zero", "precision", "recompute")


def _numbers(run: Result) -> dict[str, Any]:
    figures = {
        key: value for key, value in run.summary.items() if not isinstance(value, (list, dict))
    }
    job = run.summary.get("job") or {}
    named = {name: job[name] for name in _JOB if name in job}
    if "microbatch_samples" in job:
        named["microbatch_size"] = job["microbatch_samples"]
    return {**named, **figures, "peak_memory_bytes": run.peak_memory_bytes}
