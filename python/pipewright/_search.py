"""Searches over layouts, schedules and the like."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from tempfile import TemporaryDirectory
from typing import Any

from . import _core, _front, _worker
from ._commands import PathLike, command, options, output_of
from ._display import _STYLE
from ._figures import Figures
from ._scenario import Scenario, scenario_errors
from ._table import Table
from .errors import Error, InternalError

#: Seconds that an interrupted search may take to say what it found.
_GRACE = 0.8


class Candidate(Figures):
    """One combination of a sweep's values: its figures are attributes.

    >>> best = search("sweep.yaml").run().best
    >>> best.values["tp"], round(best.mfu, 3)
    ('2', 0.439)
    >>> run(best.scenario)
    """

    def __init__(self, result: SearchResult, summary: dict[str, Any]) -> None:
        #: All figures, as ``pipewright search --json`` prints them.
        self.summary = {name: value for name, value in summary.items() if name != "values"}
        #: Its number among the combinations.
        self.number: int = summary["candidate"]
        #: The values that make it, by the names of the axes; texts, as they are written.
        self.values: dict[str, str] = {
            result._axis_names[key]: text for key, text in summary["values"].items()
        }
        self._result = result

    @property
    def scenario(self) -> Scenario:
        """It as a scenario, to run, change and export."""
        return self._result._scenario_of(self.number)

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {value}" for name, value in self.values.items())
        return f"<Candidate {self.number}: {values}>"

    def _repr_html_(self) -> str:
        return self._result._table_of([self])._repr_html_()


class Progress:
    """How far a search is."""

    def __init__(self, said: dict[str, Any], axis_names: Mapping[str, str] | None = None) -> None:
        #: "bounds" (each candidate gets one), "best" (those that may be better are simulated),
        #: "front" (likewise of the front of throughput against memory).
        self.phase: str = said["phase"]
        #: Candidates, and how many of them have each outcome.
        self.candidates: int = said["candidates"]
        self.outcomes: dict[str, int] = said["outcomes"]
        simulated = self.outcomes["simulated"] + self.outcomes["failed"]
        #: What is done of the phase, and what there is of it at the most.
        self.done: int = said["assessed"] if self.phase == "bounds" else simulated
        self.of: int = (
            self.candidates if self.phase == "bounds" else simulated + said["still_needed"]
        )
        #: The figures of the best so far, and its values by key; None before there is one.
        self.best: dict[str, Any] | None = said["best"]
        #: Nothing can be better than the best by more than this part.
        self.gap: float | None = said.get("gap")

    def __repr__(self) -> str:
        return f"<Progress {self}>"

    def __str__(self) -> str:
        text = f"{self.phase}: {self.done}/{self.of}"
        if self.best is not None:
            values = ", ".join(
                f"{key.rsplit('.', 1)[-1]} {value}" for key, value in self.best["values"].items()
            )
            text += f", best {values}: {self.best['time_s']:.4g} s"
            text += "" if self.gap is None else f", gap {self.gap:.1%}"
        return text


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
        """The best; None where nothing was found."""
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
        >>> table[table["outcome"] == "simulated"].sort("time_s").to_pandas()
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
            raise Error(f"no axis {axis!r} leaves a choice; these do: {', '.join(known)}")
        rows = []
        for one in known[axis]:
            best = {} if one["best"] is None else self._row(self.candidate(one["best"]))
            rows.append({axis: one["value"], "better_bound": one["better_bound"], **best})
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
        best as a scenario), each by its extension.

        >>> search("sweep.yaml").run().save("search.html", "best.yaml")
        """
        command("search", self._file, "--quiet", *options(output=files))

    def _scenario_of(self, number: int) -> Scenario:
        with TemporaryDirectory(prefix="pipewright-") as folder:
            file = os.path.join(folder, "candidate.yaml")
            command("search", self._file, "--quiet", *options(candidate=number, output=file))
            with open(file, encoding="utf-8") as stream:
                return Scenario.from_yaml(stream.read())

    def _row(self, one: Candidate) -> dict[str, Any]:
        figures = dict(one.summary)
        head = {name: figures.pop(name, None) for name in ("candidate", "group", "outcome")}
        note = figures.pop("note", None)
        return {**head, **one.values, **figures, "note": note}

    def _table_of(self, candidates: list[Candidate]) -> Table:
        return Table.of([self._row(one) for one in candidates])

    def __str__(self) -> str:
        return self._text or command("search", self._file, "--quiet").text

    def __repr__(self) -> str:
        return f"<SearchResult {self.proof} {self.best!r}>"

    def _repr_html_(self) -> str:
        best, lost = self.best, self.runner_up
        shown = [one for one in (best, lost) if one is not None]
        table = self._table_of(shown)._html() if shown else ""
        return (
            f'{_STYLE}<div class="pipewright"><p class="quiet">{self.proof}</p>{table}'
            f"{_front.svg(self)}</div>"
        )


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
        self._lock = threading.Lock()
        self._answer: dict[str, Any] | None = None
        self._error: BaseException | None = None
        self._result: SearchResult | None = None
        written = {} if tree is None else {"sweep": tree}
        self._thread = threading.Thread(target=self._ask, args=(words, written), daemon=True)
        self._thread.start()

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
            self._said.put(Progress(message["progress"]))

        try:
            self._answer = _worker.request("search", {"words": words}, said, (), **written)
        except BaseException as error:
            self._error = error
        finally:
            self._process = None
            self._said.put(None)

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
            self.stop()
            self._thread.join(_GRACE)
            self._send(signal.SIGKILL)
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

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(self, bar: bool | None = None) -> SearchResult:
        """Waits for its end, with a line of progress on a terminal (``bar``), and gives the result.

        An interrupt ends it within a second; ``result`` then has what was found.
        """
        is_shown = sys.stderr.isatty() if bar is None else bar
        try:
            for progress in self:
                if is_shown:
                    print(f"\r\x1b[Ksearch {progress}", end="", file=sys.stderr, flush=True)
        finally:
            if is_shown:
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        return self.result

    @property
    def result(self) -> SearchResult:
        """What was found; waits for the end."""
        while self._thread.is_alive():
            self._thread.join(0.2)  # so that interrupts are seen
        self._raise()
        if self._result is None:
            assert self._answer is not None
            output = output_of(self._answer)
            self._result = SearchResult(output.json(), "", self._file, self._folder)
        return self._result

    def _raise(self) -> None:
        if self._error is None or self._thread.is_alive():
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

    ``search(..).run()`` waits for the end. ``jobs`` are worker processes (as many as there are
    cores), ``budget`` a time after which it stops and says how good the best must be. ``results``
    keeps every candidate in an .h5 as they come, and ``resume`` goes on with what is there.
    ``exhaustive`` simulates all that fits; ``front=False`` leaves out the front. ``any_size``
    begins with more than a billion combinations.
    """
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
    if file is not None:
        return Search([file, *words], None, kept, folder)
    return Search(words, _tree_of(sweep, keys), kept, folder)


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
