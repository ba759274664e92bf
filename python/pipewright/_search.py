"""Searches over layouts, schedules and the like."""

from __future__ import annotations

import contextlib
import html
import math
import os
import queue
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any

from . import _core, _worker
from ._chart import chart
from ._commands import PathLike, command, options, output_of
from ._display import _STYLE
from ._figures import Figures
from ._files import bring_along_all
from ._progress import NAMES, Progress, shown_progress
from ._scenario import Scenario, check_keywords, scenario_errors
from ._table import Table
from ._values import typed
from .errors import ArgumentError, AxisError, Error, InternalError, of_type

#: Seconds that an interrupt waits for what an interrupted search found; it may say so later.
_GRACE = 0.8
#: Seconds that a search gets to say what is wrong with it before it is given to its user.
_BEGINNING = 2.0
#: Columns of the tables of a notebook after the axes, of which the tables have more.
_SHOWN = ("tokens_per_s", "samples_per_s", "mfu", "makespan_s", "bubble_ratio", "peak_memory_bytes")
_GIB = 1 << 30


class Candidate(Figures):
    """One combination of a sweep's values: its figures are attributes.

    Those that results of runs have are called as there: ``makespan_s`` (of an iteration),
    ``peak_memory_bytes``, ``mfu``, ``tokens_per_s``. The values that make it are attributes, too.

    >>> best = search("sweep.yaml").run().best
    >>> best.tp, best.values["tp"], round(best.mfu, 3)
    (2, 2, 0.439)
    >>> run(best.scenario)
    """

    def __init__(self, result: SearchResult, summary: dict[str, Any]) -> None:
        #: All figures, as ``pipewright search --json`` prints them but for names of two.
        self.summary = {
            NAMES.get(name, name): value for name, value in summary.items() if name != "values"
        }
        #: Its number among the combinations.
        self.number: int = summary["candidate"]
        #: The values that make it, by the names of the axes.
        self.values: dict[str, Any] = {
            result._axis_names[key]: typed(text, key) for key, text in summary["values"].items()
        }
        self._result = result

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("values", {})
        return values[name] if name in values else super().__getattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in self.values if name.isidentifier())})

    @property
    def scenario(self) -> Scenario:
        """It as a scenario, to run, change and export."""
        return self._result._scenario_of(self.number)

    def _said(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.values.items())

    def __repr__(self) -> str:
        return f"<Candidate {self.number}: {self._said()}>"

    def _repr_html_(self) -> str:
        return self._result._table_of([self])._repr_html_()


class SearchResult:
    """What a search came to; a notebook shows the best and the front."""

    def __init__(self, said: dict[str, Any], text: str, file: str, folder: Any) -> None:
        #: All of it, as ``pipewright search --json`` prints it.
        self.summary = said
        self._text = text
        self._file = file
        self._folder = folder  # goes with this object, if it is the search's own
        self._axis_names = {axis["key"]: axis["name"] for axis in said["axes"]}
        self._candidates = {one["candidate"]: one for one in said["candidates"]}
        self._table: Table | None = None

    #: Whether it came to its end, and was not stopped.
    @property
    def finished(self) -> bool:
        return bool(self.summary["finished"])

    @property
    def proven(self) -> bool:
        """Whether nothing in the sweep is better than the best."""
        hopes = self.summary["failed_with_better_bounds"]
        return self.best is not None and not hopes and (self.finished or self.gap == 0)

    @property
    def proof(self) -> str:
        """Whether what was found is the best, in a sentence."""
        return str(self.summary["proof"])

    @property
    def gap(self) -> float:
        """Nothing can be better than the best by more than this part."""
        gap = self.summary["gap"]
        return math.inf if gap is None else float(gap)

    @property
    def outcomes(self) -> dict[str, int]:
        """How many candidates have each outcome."""
        return dict(self.summary["outcomes"])

    @property
    def best(self) -> Candidate | None:
        """The best; None where nothing was found: ``print(result)`` says why, and ``table`` has
        what holds too much."""
        number = self.summary["best"]
        return None if number is None else self.candidate(number)

    @property
    def runner_up(self) -> Candidate | None:
        """The best of those that differ from the best in time or memory; ``why_not`` says why it
        loses."""
        lost = self.summary["runner_up"]
        return None if lost is None else self.candidate(lost["candidate"])

    @property
    def why_not(self) -> dict[str, Any] | None:
        """Why the runner-up loses: by how much, and seconds more by part of the time."""
        lost: dict[str, Any] | None = self.summary["runner_up"]
        return lost

    @property
    def front(self) -> Table:
        """Those that none is better than in throughput and memory at once, by memory."""
        numbers = [number for one in self.summary["fronts"] for number in one["candidates"]]
        return self._table_of([self.candidate(number) for number in numbers])

    @property
    def table(self) -> Table:
        """All candidates that were looked at: outcome, values, figures with their units.

        >>> table = search("sweep.yaml").run().table
        >>> table[table["outcome"] == "simulated"].sort("makespan_s").to_pandas()
        """
        if self._table is None:
            self._table = self._table_of(
                [Candidate(self, one) for one in self.summary["candidates"]]
            )
        return self._table

    def by(self, axis: str) -> Table:
        """The best with each value of an axis, such as ``"tp"``.

        Where it was not needed to know it, ``better_bound`` is a candidate that was not simulated
        and may be better.
        """
        known = self.summary["best_by"]
        if axis not in known:
            raise AxisError(
                f"the search has no choice of {axis!r}", key=axis, allowed=", ".join(known)
            )
        key = next(key for key, name in self._axis_names.items() if name == axis)
        rows = []
        for one in known[axis]:
            best = {} if one["best"] is None else self._row(self.candidate(one["best"]))
            value = typed(one["value"], key)
            rows.append({axis: value, "better_bound": one["better_bound"], **best})
        return Table.of(rows)

    def candidate(self, number: int) -> Candidate:
        """A candidate by its number, the column ``candidate`` of tables."""
        return Candidate(self, self._candidates[int(number)])

    def ask(
        self,
        *,
        why_not: str | list[str] | None = None,
        robust: bool | Mapping[str, Any] = False,
        costs: Mapping[str, Any] | None = None,
        jobs: int | None = None,
    ) -> dict[str, Any]:
        """Asks about the winner, and gives what ``pipewright search --json`` has of the answers.

        ``why_not`` are conditions, of which each tells the best that meets it and where it loses;
        ``robust`` how sure the winner is, with other settings as a mapping; ``costs`` the cheapest
        on each cluster.

        >>> result = search("sweep.yaml").run()
        >>> result.ask(why_not="tp == 8")["why_not"][0]["loses"]
        >>> result.ask(robust={"draws": 64, "network": "30 %"})["robust"]
        >>> result.ask(costs={"tokens": "300B", "deadline": "30d", "price": 2.5})["costs"]
        """
        under = _words(robust) if isinstance(robust, Mapping) else []
        words = options(why_not=why_not, robust=bool(robust), jobs=jobs)
        more = options(under=under or None, costs=None if costs is None else _words(costs))
        said = command("search", self._file, "--quiet", "--json", *words, *more).json()
        return {name: said[name] for name in ("why_not", "costs", "robust") if name in said}

    def save(self, *files: PathLike) -> None:
        """Writes .html (a page with all of it), .csv, .json, .h5 (all candidates) or .yaml (the
        best as a scenario), each by its extension. A cluster of your own that was not saved is
        written beside them.

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

    def _row(self, one: Candidate) -> dict[str, Any]:
        figures = dict(one.summary)
        head = {name: figures.pop(name, None) for name in ("candidate", "outcome")}
        last = {name: figures.pop(name, None) for name in ("group", "note")}
        first = {name: figures.pop(name) for name in _SHOWN if name in figures}
        return {**head, **one.values, **first, **figures, **last}

    def _table_of(self, candidates: list[Candidate]) -> Table:
        return Table.of([self._row(one) for one in candidates])

    def __str__(self) -> str:
        self._text = self._text or command("search", self._file, "--quiet").text
        return self._text

    @property
    def found(self) -> str:
        """What came of it, in a sentence: the best, or why there is none."""
        if (best := self.best) is not None:
            return f"the best: {best._said()}"
        lines = (line for line in str(self).splitlines() if line.startswith("nothing"))
        return next(lines, "nothing was found")

    def __repr__(self) -> str:
        return f"<SearchResult: {self.found}; {self.proof}>"

    def _repr_html_(self) -> str:
        said = f"<b>{html.escape(self.found)}</b><br>{html.escape(self.proof)}"
        if self.best is None:
            return (
                f'{_STYLE}<div class="pipewright"><p class="quiet">{said}</p>'
                f'<pre style="color: inherit">{html.escape(str(self))}</pre></div>'
            )
        shown = [one for one in (self.best, self.runner_up) if one is not None]
        return (
            f'{_STYLE}<div class="pipewright"><p class="quiet">{said}</p>'
            f"{_few_columns(shown)._html()}{_front_svg(self)}</div>"
        )


def _few_columns(candidates: Sequence[Candidate]) -> Table:
    """What tells candidates apart, and what they come to, in the units that one reads."""
    rows: list[dict[str, Any]] = []
    for one in candidates:
        rows.append({"place": "runner-up" if rows else "best", **one.values})
        rows[-1] |= {name: one.summary[name] for name in _SHOWN if name in one.summary}
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


class Search:
    """A search that goes on while it is asked how far it is; made by :func:`search`.

    Iterating gives :class:`Progress` until it is done; leaving the loop, ``stop()`` or an interrupt
    ends it, and ``result`` has what was found until then.
    """

    def __init__(self, words: list[str], tree: str | None, file: str, folder: Any) -> None:
        self._file = file
        self._folder = folder
        self._said: queue.Queue[Progress | None] = queue.Queue()
        self._process: int | None = None
        self._is_listening = False
        self._is_stopped = False
        self._begun = threading.Event()
        self._lock = threading.Lock()
        self._answer: dict[str, Any] | None = None
        self._error: BaseException | None = None
        self._result: SearchResult | None = None
        written = {} if tree is None else {"sweep": tree}
        self._thread = threading.Thread(target=self._ask, args=(words, written), daemon=True)
        self._thread.start()
        # What is wrong with the sweep or an option is said where they are.
        self._begun.wait(_BEGINNING)
        self._raise()

    def _ask(self, words: list[str], written: dict[str, str]) -> None:
        def said(message: dict[str, Any], files: list[int]) -> None:
            if "process" in message:
                self._process = message["process"]
                return
            with self._lock:
                # Before, the program does not listen to interrupts yet.
                if self._is_stopped and not self._is_listening:
                    self._send(signal.SIGINT)
                self._is_listening = True
            self._begun.set()
            self._said.put(Progress(message["progress"]))

        try:
            self._answer = _worker.request("search", {"words": words}, said, (), **written)
        except BaseException as error:
            self._error = error
        finally:
            self._process = None
            self._said.put(None)
            self._begun.set()

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process, number)

    def __iter__(self) -> Iterator[Progress]:
        try:
            while not self.done:
                with contextlib.suppress(queue.Empty):
                    progress = self._said.get(timeout=0.2)
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
        """Whether it has ended."""
        return not self._thread.is_alive() and self._said.empty()

    def stop(self) -> None:
        """Ends it soon, with what it has found."""
        with self._lock:
            # A second interrupt would end the program at once.
            if self._is_listening and not self._is_stopped:
                self._send(signal.SIGINT)
            self._is_stopped = True

    close = stop

    def _interrupted(self) -> None:
        """Ends it; what comes late of what it found is still heard. A second interrupt kills it."""
        if self._is_stopped:
            self._send(signal.SIGKILL)
        self.stop()
        self._thread.join(_GRACE)

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(self, bar: bool | None = None) -> SearchResult:
        """Waits for its end, with a line of progress on a terminal (``bar``), and gives the result.

        In a notebook the line stands below the cell and goes when the search is done. An interrupt
        comes back within a second; ``result`` then waits for what was found.
        """
        with shown_progress(bar) as show:
            for progress in self:
                show(f"search {progress}")
        return self.result

    @property
    def result(self) -> SearchResult:
        """What was found; waits for the end."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.2)  # so that interrupts are seen
        except KeyboardInterrupt:
            self._interrupted()
            raise
        self._raise()
        if self._result is None:
            assert self._answer is not None
            output = output_of(self._answer)
            self._result = SearchResult(output.json(), "", self._file, self._folder)
        return self._result

    def _raise(self) -> None:
        if self._error is None:
            return
        if isinstance(self._error, InternalError) and self._is_stopped:
            raise Error("the search was ended before it could say what it found") from self._error
        raise self._error

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
    """Finds the best of many scenarios, with a proof: which layout, schedule, recomputation.

    ``sweep`` is a scenario in which values may be lists, ranges or ``"auto"``, and whose key
    ``search`` says what is best: a file, a mapping, or its keys by keyword. Or it is a file of
    results (.h5), which are shown again. The search begins at once, in processes of its own.

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

    What is wrong with it is an error here. ``search(..).run()`` waits for the end. ``jobs`` are
    worker processes (as many as there are cores), ``budget`` a time after which it stops and says
    how good the best must be. ``results`` keeps every candidate in an .h5 as they come, and
    ``resume`` goes on with what is there. ``reuse`` are results of other sweeps, narrower or wider
    ones, whose candidates are taken where they are this one's too. ``exhaustive`` simulates all that fits; ``front=False``
    leaves out the front. ``any_size`` begins with more than a billion combinations.
    """
    if sweep is not None:
        allowed = "a file of a sweep or of results, a mapping, a Scenario, or keywords"
        of_type(sweep, (str, os.PathLike, Mapping, Scenario), "the sweep", allowed)
    elif not keys:
        raise ArgumentError(
            "search is given nothing to search; keywords say it, or a file or a mapping",
            remedy="search(cluster=.., model=.., parallel={'tp': 'auto', ..}, global_batch=..)",
        )
    check_keywords(keys, is_search=True)
    if jobs is not None and jobs < 1:
        raise ArgumentError(f"jobs is {jobs}", allowed="a whole number from 1, such as 2")
    folder: Any = TemporaryDirectory(prefix="pipewright-")
    file = None
    if isinstance(sweep, (str, os.PathLike)) and "\n" not in str(sweep) and not keys:
        file = os.fspath(sweep)
    if file is not None and file.endswith(".h5"):
        return Search(["--json", file], None, os.path.abspath(file), folder)
    # A search's own results are for what is asked of them later, and go with them.
    kept = os.path.abspath(results or os.path.join(folder.name, "results.h5"))
    words = ["--json", *options(results=kept, resume=resume, jobs=jobs, exhaustive=exhaustive)]
    words += options(budget=_time(budget), time_limit=_time(time_limit), yes=any_size)
    words += options(worker_memory=worker_memory, no_front=not front)
    words += options(reuse=[os.path.abspath(one) for one in _paths(reuse)] or None)
    if file is not None:
        return Search([file, *words], None, kept, folder)
    return Search(words, _tree_of(sweep, keys), kept, folder)


def _paths(given: PathLike | Sequence[PathLike] | None) -> Sequence[PathLike]:
    if given is None:
        return []
    return [given] if isinstance(given, (str, os.PathLike)) else given


def _words(given: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_word(value)}" for name, value in given.items()]


def _word(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _time(value: str | float | None) -> str | None:
    return value if value is None or isinstance(value, str) else f"{float(value)!r} s"


def _tree_of(sweep: Any, keys: Mapping[str, Any]) -> str:
    with scenario_errors():
        if isinstance(sweep, Scenario):
            tree = sweep._tree
        elif isinstance(sweep, str) and "\n" in sweep:
            tree = _core.Tree.from_text(sweep, "the sweep")
        elif isinstance(sweep, (str, os.PathLike)):
            tree = _core.Tree.from_file(os.fspath(sweep))
        else:
            tree = _core.Tree.from_object(sweep or {})
        for key, value in keys.items():
            tree = tree.with_key(key, value)
        return str(tree.json())
