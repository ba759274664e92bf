"""Questions about results: where the time of a run goes, and how runs differ."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from . import _display
from ._commands import PathLike, command, options
from ._figures import Figures
from ._results import Result, Results
from ._scenario import Scenario
from ._table import optional
from .errors import ArgumentError, check_jobs, kind_of, naming_missing_files, of_type

if TYPE_CHECKING:
    import pandas


class Answer(Figures):
    """An answer of the program as JSON and as text, with its fields as attributes."""

    def __init__(self, answer: dict[str, Any]) -> None:
        #: The answer as the program prints it with --json.
        self.summary: dict[str, Any] = json.loads(answer["json"])
        #: The answer as text for a terminal.
        self.text: str = answer["text"]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _display.text_html(self.text)


class Why(Answer):
    """Where the time of a run goes: ``critical_path``, ``devices``, ``slack``, ``what_if``.

    ``makespan_s`` is the time in seconds, and ``verdict`` the answer in a sentence.

    >>> answer = why(result)
    >>> best = answer.what_ifs()[0]["change"]
    """

    makespan_s: float
    verdict: str

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer)
        #: Reason why no changes were simulated, or empty.
        self.no_what_if: str = answer["no_what_if"]

    def what_ifs(self) -> list[dict[str, Any]]:
        """Simulated changes, the largest gain first, then changes that could not run."""
        rows: list[dict[str, Any]] = (self.summary.get("what_if") or {}).get("rows", [])
        return rows

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with a row per change."""
        pd = optional("pandas", "what_ifs()")
        return pd.DataFrame(self.what_ifs())


def why(
    result: Result,
    *,
    what_if: bool = True,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Why:
    """Explains the time of a run, and which changes would reduce it.

    ``what_if`` simulates the scenario with one change at a time, in ``jobs`` processes; ``progress``
    is called with the number of finished simulations and their total.

    >>> why(result).to_pandas().columns[0]
    'change'
    """

    if not isinstance(result, Result):
        more = "; run(..) gives one" if isinstance(result, Scenario) else ""
        message = f"why takes a result, not {kind_of(result)}{more}"
        raise ArgumentError(message, remedy="run(..)")
    check_jobs(jobs)

    def on_message(message: dict[str, Any], files: list[int]) -> None:
        if progress is not None:
            progress(message["done"], message["of"])

    more = {"what_if": what_if, "jobs": jobs or len(os.sched_getaffinity(0))}
    return Why(result._ask("why", more, on_message))


class Comparison(Answer):
    """Differences of runs from the first one: ``baseline``, ``others`` and ``conditions``."""

    def holds(self) -> bool:
        """Whether any of the conditions holds."""
        return any(condition["holds"] for condition in self.summary["conditions"])


def compare(
    first: Result,
    *others: Result | PathLike,
    names: Sequence[str] | None = None,
    conditions: Sequence[str] = (),
    **more: Any,
) -> Comparison:
    """Compares runs with the first one, in figures and pass by pass, or a run with measurements.

    ``others`` are results, or the files of one measured run, as ``pipewright compare`` takes: traces
    (.h5), profiles (``"rank{rank}.json.gz"``), a log of a training, snapshots of PyTorch's memory, a
    schedule. ``more`` are the options of that command for measured runs: ``skip``, ``pattern``, ...
    ``conditions`` such as ``"makespan>+1%"`` or ``"peak_memory<-1GiB"`` are checked for each other
    run; see :meth:`Comparison.holds`.

    >>> before, after = run_many([scenario, scenario.with_(p2p_time="1 ms")]).ok
    >>> compare(before, after, names=["before", "after"], conditions=["makespan>+1%"]).holds()
    False
    >>> compare(result, "training.log").iteration_s  # doctest: +SKIP
    """
    if not others:
        raise ArgumentError("compare takes at least two runs", remedy="compare(before, after)")
    of_type(first, Result, "run 1 of compare", "a Result, as run(..) or open(..) gives")
    files = [run for run in others if isinstance(run, (str, os.PathLike))]
    if files:
        if len(files) != len(others) or names is not None:
            raise ArgumentError(
                "compare takes results with names, or files of a single measured run",
                suggestion="open(file) makes a result of a trace",
                remedy="compare(result, file)",
            )
        return _with_files(first, files, {"fail_if": list(conditions) or None, **more})
    if more:
        key = next(iter(more))
        raise ArgumentError(f"{key} is an option for measured runs, and these are results", key=key)
    results = [run for run in (first, *others) if not isinstance(run, (str, os.PathLike))]
    for number, result in enumerate(results, 1):
        of_type(result, Result, f"run {number} of compare", "a Result, or the files of a measured run")
    runs = Results(results)
    run_names = list(names) if names is not None else _names(runs)
    if len(run_names) != len(runs):
        raise ArgumentError(f"compare has {len(run_names)} names for {len(runs)} runs")
    return Comparison(runs._ask("compare", {"names": run_names, "conditions": list(conditions)}))


def _with_files(
    first: Result, files: Sequence[PathLike], arguments: Mapping[str, Any]
) -> Comparison:
    """The answer of ``pipewright compare`` for a run and files."""
    with TemporaryDirectory(prefix="pipewright-") as folder, naming_missing_files(*files):
        trace = os.path.join(folder, "predicted.h5")
        first.save(trace)
        words = ["compare", trace, *(os.fspath(file) for file in files), *options(**arguments)]
        answer = {"json": command(*words, "--json").text, "text": command(*words).text}
    return Comparison({key: text.replace(trace, "predicted") for key, text in answer.items()})


def _names(runs: Sequence[Result]) -> list[str]:
    schedules = [str(run.schedule) for run in runs]
    if len(set(schedules)) == len(schedules):
        return schedules
    return [f"run {number}" for number in range(1, len(schedules) + 1)]

