"""Searches for the best layout, schedule and recomputation."""

from __future__ import annotations

import contextlib
import html
import json
import math
import os
import queue
import signal
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from . import _worker
from ._chart import chart
from ._commands import PathLike, command, options, output_of
from ._display import _STYLE
from ._figures import Figures
from ._files import bring_along_all
from ._progress import NAMES, Progress, shown_progress
from ._scenario import Scenario, check_keywords
from ._table import Table, optional
from ._tree import changed, tree_of
from ._values import typed
from ._words import in_python
from .errors import (
    ArgumentError,
    AxisError,
    Error,
    InternalError,
    check_jobs,
    naming_missing_files,
    of_type,
)

if TYPE_CHECKING:
    import pandas

#: Seconds for which an interrupted search may still deliver its result.
_GRACE = 0.8
#: Seconds for which search() waits in case the sweep has an error, before it returns.
_BEGINNING = 2.0
#: Figures in the first columns of tables, after the values of the axes.
_SHOWN = ("tokens_per_s", "samples_per_s", "mfu", "makespan_s", "bubble_ratio", "peak_memory_bytes")
_GIB = 1 << 30


class Candidate(Figures):
    """One combination of a sweep's values, with its figures as attributes.

    Figures have the names of those of runs: ``makespan_s`` (of an iteration),
    ``peak_memory_bytes``, ``mfu``, ``tokens_per_s``. The values of the axes are attributes, too.

    >>> best = search("sweep.yaml").run().best
    >>> best.tp, best.values["tp"], round(best.mfu, 3)
    (2, 2, 0.439)
    >>> run(best.scenario)
    """

    makespan_s: float
    tokens_per_s: float
    samples_per_s: float
    mfu: float
    bubble_ratio: float
    peak_memory_bytes: int
    outcome: str

    def __init__(self, result: SearchResult, summary: dict[str, Any]) -> None:
        #: All figures of ``pipewright search --json``, under the names that runs use.
        self.summary = {
            NAMES.get(name, name): value for name, value in summary.items() if name != "values"
        }
        #: Number of the combination in the sweep.
        self.number: int = summary["candidate"]
        #: Value of each axis in this combination, by name.
        self.values: dict[str, Any] = {
            result._axis_names[key]: typed(text, key) for key, text in summary["values"].items()
        }
        self._result = result

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("values", {})
        return values[name] if name in values else super().__getattr__(name)

    def __dir__(self) -> list[str]:
        values = self.__dict__.get("values", {})
        return sorted({*super().__dir__(), *(name for name in values if name.isidentifier())})

    @property
    def scenario(self) -> Scenario:
        """The candidate as a scenario, to run, change or export."""
        return self._result._scenario_of(self.number)

    def _label(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.values.items())

    def __repr__(self) -> str:
        return f"<Candidate {self.number}: {self._label()}>"

    def _repr_html_(self) -> str:
        return self._result._table_of([self])._repr_html_()


class SearchResult:
    """Result of a search; a notebook shows the best candidate and the Pareto front."""

    def __init__(self, report: dict[str, Any], text: str, file: str, folder: Any) -> None:
        #: The result as ``pipewright search --json`` prints it.
        self.summary = report
        self._text = text
        self._file = file
        self._folder = folder  # keeps a temporary folder alive
        self._axis_names = {axis["key"]: axis["name"] for axis in report["axes"]}
        self._candidates = {row["candidate"]: row for row in report["candidates"]}
        self._table: Table | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        with open(self._file, "rb") as file:
            return (_unpickled, (self.summary, self._text, file.read()))

    @property
    def notes(self) -> list[str]:
        """Notes on the search, such as values that its scenario leaves out and that are assumed."""
        return [in_python(note) for note in self.summary.get("notes", [])]

    @property
    def finished(self) -> bool:
        """True if the search ended by itself rather than by an interrupt."""
        return bool(self.summary["finished"])

    @property
    def proven(self) -> bool:
        """Whether the best candidate is proven to be the best of the sweep."""
        contenders = self.summary["failed_with_better_bounds"]
        return self.best is not None and not contenders and (self.finished or self.gap == 0)

    @property
    def proof(self) -> str:
        """The state of the proof in a sentence."""
        return str(self.summary["proof"])

    @property
    def gap(self) -> float:
        """Upper bound of the part by which any candidate can be better than the best."""
        gap = self.summary["gap"]
        return math.inf if gap is None else float(gap)

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of candidates by outcome."""
        return dict(self.summary["outcomes"])

    @property
    def best(self) -> Candidate | None:
        """The best candidate, or None: ``print(result)`` says why, and ``table`` has candidates
        that exceed memory."""
        number = self.summary["best"]
        return None if number is None else self.candidate(number)

    @property
    def runner_up(self) -> Candidate | None:
        """The best candidate that differs from the winner in time or memory; see ``why_not``."""
        lost = self.summary["runner_up"]
        return None if lost is None else self.candidate(lost["candidate"])

    @property
    def why_not(self) -> dict[str, Any] | None:
        """Comparison of the runner-up with the best: by how much it loses, and where."""
        lost: dict[str, Any] | None = self.summary["runner_up"]
        return lost

    @property
    def front(self) -> Table:
        """Pareto front of throughput against memory, ordered by memory. ``print`` shows its main
        columns, as for ``table`` and :meth:`by`."""
        numbers = [number for front in self.summary["fronts"] for number in front["candidates"]]
        return self._table_of([self.candidate(number) for number in numbers])

    @property
    def table(self) -> Table:
        """All assessed candidates: outcome, values and figures with units.

        >>> table = search("sweep.yaml").run().table
        >>> table[table["outcome"] == "simulated"].sort("makespan_s").to_pandas()
        """
        if self._table is None:
            self._table = self._table_of(
                [Candidate(self, row) for row in self.summary["candidates"]]
            )
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """All assessed candidates as a data frame, with the columns of ``table``."""
        return self.table.to_pandas()

    @property
    def best_params(self) -> dict[str, Any]:
        """Values of the axes of the best candidate; empty if there is none."""
        return {} if self.best is None else dict(self.best.values)

    @property
    def best_value(self) -> float | None:
        """Time of an iteration of the best candidate, in seconds."""
        return None if self.best is None else self.best.makespan_s

    def trials_dataframe(self) -> pandas.DataFrame:
        """The candidates as Optuna's studies show their trials: ``number``, ``value`` (seconds of an
        iteration), ``params_tp`` and so on, and ``state``.

        >>> search("sweep.yaml").run().trials_dataframe().columns[:3].to_list()
        ['number', 'value', 'params_tp']
        """
        pd = optional("pandas", ".table")
        rows = []
        for summary in self.summary["candidates"]:
            candidate = Candidate(self, summary)
            params = {f"params_{name}": value for name, value in candidate.values.items()}
            state = "COMPLETE" if candidate.outcome == "simulated" else "PRUNED"
            value = candidate.summary.get("makespan_s")
            row: dict[str, Any] = {"number": candidate.number, "value": value, **params}
            rows.append({**row, "state": state, "outcome": candidate.outcome})
        return pd.DataFrame(rows)

    def by(self, axis: str) -> Table:
        """The best candidate for each value of an axis, such as ``"tp"``.

        ``better_bound`` is a candidate that was not simulated and may be better, if there is one.
        """
        best_by_axis = self.summary["best_by"]
        if axis not in best_by_axis:
            raise AxisError(
                f"the search has no axis {axis!r}", key=axis, allowed=", ".join(best_by_axis)
            )
        key = next(key for key, name in self._axis_names.items() if name == axis)
        rows = []
        for entry in best_by_axis[axis]:
            best = {} if entry["best"] is None else self._row(self.candidate(entry["best"]))
            value = typed(entry["value"], key)
            rows.append({axis: value, "better_bound": entry["better_bound"], **best})
        others = [name for name in self._main_columns() if name != axis]
        return Table.of(rows, [axis, "better_bound", *others])

    def candidate(self, number: int) -> Candidate:
        """The candidate with a number, which tables have as ``candidate``."""
        return Candidate(self, self._candidates[int(number)])

    def ask(
        self,
        *,
        why_not: str | list[str] | None = None,
        robust: bool | Mapping[str, Any] = False,
        costs: Mapping[str, Any] | None = None,
        decide: bool = False,
        jobs: int | None = None,
    ) -> dict[str, Any]:
        """Answers questions about the winner, as ``pipewright search --json`` prints them.

        ``why_not`` are conditions; each answer is the best candidate that meets one, and where it
        loses. ``robust`` assesses the winner under perturbed inputs; a mapping changes the
        settings. ``costs`` finds the cheapest candidate on each cluster. ``decide`` collects what a
        decision needs about the winner: ties, cost, failures and the launch.

        >>> result = search("sweep.yaml").run()
        >>> result.ask(why_not="tp == 8")["why_not"][0]["loses"]
        >>> result.ask(robust={"draws": 64, "network": "30 %"})["robust"]
        >>> result.ask(costs={"tokens": "300B", "deadline": "30d", "price": 2.5})["costs"]
        >>> result.ask(decide=True, costs={"tokens": "300B", "price": 2.5})["decision"]["goodput"]
        """
        under = _words(robust) if isinstance(robust, Mapping) else []
        words = options(why_not=why_not, robust=bool(robust), decide=decide, jobs=jobs)
        more = options(under=under or None, costs=None if costs is None else _words(costs))
        report = command("search", self._file, "--quiet", "--json", *words, *more).json()
        answers = ("why_not", "costs", "robust", "decision")
        return {name: report[name] for name in answers if name in report}

    def save(self, *files: PathLike) -> None:
        """Writes files by their extension: .html (a page), .csv, .json, .h5 (all candidates) or
        .yaml (the best candidate as a scenario). An unsaved cluster of your own is written to the
        same folder.

        >>> search("sweep.yaml").run().save("search.html", "best.yaml")
        """
        command("search", self._file, "--quiet", *options(output=files))
        bring_along_all(files)

    def _scenario_of(self, number: int) -> Scenario:
        with TemporaryDirectory(prefix="pipewright-") as folder:
            file = os.path.join(folder, "candidate.yaml")
            command("search", self._file, "--quiet", *options(candidate=number, output=file))
            with open(file, encoding="utf-8") as stream:
                return Scenario.from_yaml(stream.read())

    def _row(self, candidate: Candidate) -> dict[str, Any]:
        figures = dict(candidate.summary)
        head = {name: figures.pop(name, None) for name in ("candidate", "outcome")}
        last = {name: figures.pop(name, None) for name in ("group", "note")}
        first = {name: figures.pop(name) for name in _SHOWN if name in figures}
        return {**head, **candidate.values, **first, **figures, **last}

    def _table_of(self, candidates: list[Candidate]) -> Table:
        rows = [self._row(candidate) for candidate in candidates]
        return Table.of(rows, ["candidate", "outcome", *self._main_columns()])

    def _main_columns(self) -> list[str]:
        """Names of the columns that a table of candidates prints: axes and main figures."""
        axes = [axis["name"] for axis in self.summary["axes"]]
        has_tokens = any("tokens_per_s" in row for row in self.summary["candidates"])
        return axes + [name for name in _SHOWN if not (has_tokens and name == "samples_per_s")]

    def __str__(self) -> str:
        self._text = self._text or command("search", self._file, "--quiet").text
        return self._text

    @property
    def found(self) -> str:
        """The result in a sentence: the best candidate, or why there is none."""
        if (best := self.best) is not None:
            return f"the best: {best._label()}"
        lines = (line for line in str(self).splitlines() if line.startswith("nothing"))
        return next(lines, "nothing was found")

    def __repr__(self) -> str:
        return f"<SearchResult: {self.found}; {self.proof}>"

    def _repr_html_(self) -> str:
        quiet = "<br>".join(html.escape(line) for line in (self.proof, *self.notes))
        summary = f"<b>{html.escape(self.found)}</b><br>{quiet}"
        if self.best is None:
            return (
                f'{_STYLE}<div class="pipewright"><p class="quiet">{summary}</p>'
                f'<pre style="color: inherit">{html.escape(str(self))}</pre></div>'
            )
        shown = [row for row in (self.best, self.runner_up) if row is not None]
        return (
            f'{_STYLE}<div class="pipewright"><p class="quiet">{summary}</p>'
            f"{_few_columns(shown)._html()}{_front_svg(self)}</div>"
        )


def _unpickled(report: dict[str, Any], text: str, results: bytes) -> SearchResult:
    folder = TemporaryDirectory(prefix="pipewright-")
    path = os.path.join(folder.name, "results.h5")
    with open(path, "wb") as file:
        file.write(results)
    return SearchResult(report, text, path, folder)


def _few_columns(candidates: Sequence[Candidate]) -> Table:
    """Values and main figures of candidates."""
    rows: list[dict[str, Any]] = []
    for candidate in candidates:
        rows.append({"place": "runner-up" if rows else "best", **candidate.values})
        summary = candidate.summary
        rows[-1] |= {name: summary[name] for name in _SHOWN if name in summary}
    return Table.of(rows)


def _front_svg(result: SearchResult) -> str:
    """A chart of throughput against memory: all simulated candidates, their Pareto front and the best.

    Empty if no candidate was simulated.
    """
    table = result.table
    if not len(table) or "makespan_s" not in table.columns:
        return ""
    unit = "tokens_per_s" if "tokens_per_s" in table.columns else "samples_per_s"
    if unit not in table.columns:
        return ""
    points = [
        (float(row["peak_memory_bytes"]) / _GIB, float(row[unit]), _values_label(result, row))
        for row in table[table["outcome"] == "simulated"]
        if row[unit] == row[unit]
    ]
    front = [(float(row["peak_memory_bytes"]) / _GIB, float(row[unit])) for row in result.front]
    best = result.best
    star = None if best is None else (best.peak_memory_bytes / _GIB, float(best.summary[unit]))
    words = f"{unit.split('_')[0]}/s"
    return chart(points, front, star, "memory of the fullest device (GiB)", words)


def _values_label(result: SearchResult, row: dict[str, Any]) -> str:
    values: dict[str, Any] = result.candidate(row["candidate"]).values
    return ", ".join(f"{name} {value}" for name, value in values.items())


class _Background:
    """The thread and the process of a search.

    It does not refer to its :class:`Search`, so that an abandoned one is collected and killed.
    """

    def __init__(self, words: list[str], written: dict[str, str]) -> None:
        self.messages: queue.Queue[Progress | None] = queue.Queue()
        self.begun = threading.Event()
        self.answer: dict[str, Any] | None = None
        self.error: BaseException | None = None
        self.is_stopped = False
        self._process: int | None = None
        self._is_listening = False
        self._is_killed = False
        self._lock = threading.Lock()
        self.thread = threading.Thread(target=self._ask, args=(words, written), daemon=True)
        self.thread.start()

    def _ask(self, words: list[str], written: dict[str, str]) -> None:
        def on_message(message: dict[str, Any], files: list[int]) -> None:
            if "process" in message:
                self._process = message["process"]
                if self._is_killed:
                    self._send(signal.SIGKILL)
                return
            with self._lock:
                # Until its first message, the program does not handle interrupts.
                if self.is_stopped and not self._is_listening:
                    self._send(signal.SIGINT)
                self._is_listening = True
            self.begun.set()
            self.messages.put(Progress(message["progress"]))

        try:
            self.answer = _worker.request("search", {"words": words}, on_message, (), **written)
        except BaseException as error:
            self.error = error
        finally:
            self._process = None
            self.messages.put(None)
            self.begun.set()

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process, number)

    def stop(self) -> None:
        with self._lock:
            # A second interrupt would kill the program, so only one is sent.
            if self._is_listening and not self.is_stopped:
                self._send(signal.SIGINT)
            self.is_stopped = True

    def kill(self) -> None:
        """Ends the processes of the search, without a result."""
        self.is_stopped = self._is_killed = True
        self._send(signal.SIGKILL)


class Search:
    """A search that runs in the background; made by :func:`search`.

    Iterating yields :class:`Progress` until the search ends. Leaving the loop, ``stop()`` or an
    interrupt stops it; ``result`` then has the best candidates so far. A search that nothing refers
    to any more ends, as after ``del`` or when a notebook's cell runs again.
    """

    def __init__(self, words: list[str], tree: str | None, file: str, folder: Any) -> None:
        self._file = file
        self._folder = folder
        self._result: SearchResult | None = None
        self._background = _Background(words, {} if tree is None else {"sweep": tree})
        self._end = weakref.finalize(self, self._background.kill)
        # Errors in the sweep or in an option are raised by search() itself.
        self._background.begun.wait(_BEGINNING)
        self._raise()

    def __iter__(self) -> Iterator[Progress]:
        try:
            while not self.done:
                with contextlib.suppress(queue.Empty):
                    progress = self._background.messages.get(timeout=0.2)
                    if progress is None:
                        break
                    yield progress
        except KeyboardInterrupt:
            self._interrupted()
            raise
        except GeneratorExit:
            self.stop()
            raise
        self._raise()

    @property
    def done(self) -> bool:
        """Whether the search has ended."""
        return not self._background.thread.is_alive() and self._background.messages.empty()

    def stop(self) -> None:
        """Stops the search soon; its result is the best so far."""
        self._background.stop()

    close = stop

    def _interrupted(self) -> None:
        """Stops the search but still accepts its result. A second interrupt kills it."""
        if self._background.is_stopped:
            self._background.kill()
        self.stop()
        self._background.thread.join(_GRACE)

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(self, bar: bool | None = None) -> SearchResult:
        """Waits for the end of the search and returns its result.

        ``bar`` shows progress on a terminal, or below a notebook's cell. An interrupt returns
        within a second; ``result`` then waits for the best candidates so far.
        """
        with shown_progress(bar) as show:
            for progress in self:
                show(f"search {progress}")
        return self.result

    @property
    def result(self) -> SearchResult:
        """The result; waits for the end of the search, or after :meth:`stop` for its best so far."""
        try:
            while self._background.thread.is_alive():
                self._background.thread.join(0.2)  # the timeout lets interrupts through
        except KeyboardInterrupt:
            self._interrupted()
            raise
        self._raise()
        if self._result is None:
            assert self._background.answer is not None
            output = output_of(self._background.answer)
            self._result = SearchResult(output.json(), "", self._file, self._folder)
        return self._result

    def _raise(self) -> None:
        error = self._background.error
        if error is None:
            return
        if isinstance(error, InternalError) and self._background.is_stopped:
            raise Error("the search was killed before it could report its result") from error
        raise error

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a search under way cannot be pickled or copied; its result can")

    def __repr__(self) -> str:
        return f"<Search {'done' if self.done else 'under way'}>"


def search(
    sweep: PathLike | Mapping[str, Any] | Scenario | None = None,
    /,
    *,
    jobs: int | None = None,
    budget: str | float | None = None,
    results: PathLike | None = None,
    resume: bool = False,
    reuse: PathLike | Sequence[PathLike] | None = None,
    exhaustive: bool = False,
    front: bool = True,
    time_limit: str | float | None = None,
    worker_memory: str | int | None = None,
    any_size: bool = False,
    **keys: Any,
) -> Search:
    """Finds the best scenario of a sweep, such as layout, schedule and recomputation, with a proof.

    ``sweep`` is a scenario whose values may be lists, ranges or ``"auto"`` and whose key ``search``
    has the objective: a file, a mapping, or keywords. A file of results (.h5) shows its results
    again. The search starts at once in child processes.

    >>> found = search(
    ...     cluster="dgx-h100-8",
    ...     model="llama-3-70b",
    ...     parallel={"tp": [4, 8], "pp": "auto", "dp": "auto", "sp": True, "zero": 1},
    ...     schedule=["1f1b", {"name": "interleaved-1f1b", "chunks": [2, 5]}, "zb-v"],
    ...     training={"microbatch_size": [1, 2], "recompute": ["none", "full"]},
    ...     global_batch=128,
    ...     search={"constraints": ["microbatches >= pp"]},
    ... )
    >>> for progress in found:
    ...     print(progress)
    >>> found.result.best.scenario

    Errors in the sweep are raised here. ``search(..).run()`` waits for the end. ``jobs`` is the number
    of worker processes (one per core); after the time ``budget`` the search stops with a bound for
    its best candidate. ``results`` stores candidates in an .h5 as they come, and ``resume`` continues
    it. ``reuse`` are results of other sweeps, whose common candidates are not assessed again.
    ``exhaustive`` simulates all candidates that fit; ``front=False`` leaves out the Pareto front.
    ``any_size`` allows more than a billion combinations.
    """
    if sweep is not None:
        allowed = "a file of a sweep or of results, a mapping, a Scenario, or keywords"
        of_type(sweep, (str, os.PathLike, Mapping, Scenario), "the sweep", allowed)
    elif not keys:
        raise ArgumentError(
            "search needs a sweep: keywords, a file or a mapping",
            remedy="search(cluster=.., model=.., parallel={'tp': 'auto', ..}, global_batch=..)",
        )
    check_keywords(keys, is_search=True)
    check_jobs(jobs)
    folder: Any = TemporaryDirectory(prefix="pipewright-")
    file = None
    if isinstance(sweep, (str, os.PathLike)) and "\n" not in str(sweep) and not keys:
        file = os.fspath(sweep)
    if file is not None and file.endswith(".h5"):
        with naming_missing_files(file):
            return Search(["--json", file], None, os.path.abspath(file), folder)
    # Results in a temporary file answer later questions about the search.
    results_file = os.path.abspath(results or os.path.join(folder.name, "results.h5"))
    words = ["--json", *options(results=results_file, resume=resume, jobs=jobs, exhaustive=exhaustive)]
    words += options(budget=_time(budget), time_limit=_time(time_limit), yes=any_size)
    words += options(worker_memory=worker_memory, no_front=not front)
    reused = [os.path.abspath(path) for path in _paths(reuse)]
    words += options(reuse=reused or None)
    with naming_missing_files(file, *reused):
        if file is not None:
            return Search([file, *words], None, results_file, folder)
        return Search(words, _tree_of(sweep, keys), results_file, folder)


def _paths(files: PathLike | Sequence[PathLike] | None) -> Sequence[PathLike]:
    if files is None:
        return []
    return [files] if isinstance(files, (str, os.PathLike)) else files


def _words(settings: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_word(value)}" for name, value in settings.items()]


def _word(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _time(value: str | float | None) -> str | None:
    return value if value is None or isinstance(value, str) else f"{float(value)!r} s"


def _tree_of(sweep: Any, keys: Mapping[str, Any]) -> str:
    source: dict[str, Any]
    if isinstance(sweep, Scenario):
        source = {"tree": sweep._tree}
    elif isinstance(sweep, str) and "\n" in sweep:
        source = {"text": sweep, "name": "the sweep"}
    elif isinstance(sweep, (str, os.PathLike)):
        source = {"file": os.fspath(sweep)}
    else:
        source = {"tree": tree_of(sweep or {})}
    return json.dumps(changed(source, keys, check=False)["tree"])
