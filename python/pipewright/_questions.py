"""Questions to runs that are there: why one takes its time, and how several differ."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _display
from ._figures import Figures
from ._results import Result, Results
from ._scenario import Scenario
from ._table import optional
from .errors import ArgumentError, kind_of, of_type

if TYPE_CHECKING:
    import pandas


class Told(Figures):
    """What the program tells as JSON and as a text: its fields are attributes."""

    def __init__(self, answer: dict[str, Any]) -> None:
        #: All of it, as the program prints it with --json.
        self.summary: dict[str, Any] = json.loads(answer["json"])
        #: As it stands in a terminal.
        self.text: str = answer["text"]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _display.text_html(self.text)


class Why(Told):
    """Why a run takes its time: ``critical_path``, ``devices``, ``slack``, ``what_if``.

    >>> found = why(result)
    >>> best = found.what_ifs()[0]["change"]
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer)
        #: Why no change was simulated; empty where they were.
        self.no_what_if: str = answer["no_what_if"]

    def what_ifs(self) -> list[dict[str, Any]]:
        """Changes that were simulated: what gains most first, then what could not run."""
        found: list[dict[str, Any]] = (self.summary.get("what_if") or {}).get("rows", [])
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """The changes, a row each."""
        pd = optional("pandas", "what_ifs()")
        return pd.DataFrame(self.what_ifs())


def why(
    result: Result,
    *,
    what_if: bool = True,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Why:
    """Why a run takes as long as it does, and what would help.

    With ``what_if`` the run's scenario is simulated again with one change after the other, ``jobs``
    at a time; ``progress`` is called with the simulations that are done, and their number.

    >>> why(result).to_pandas().columns[0]
    'change'
    """

    if not isinstance(result, Result):
        more = "; run(..) gives one" if isinstance(result, Scenario) else ""
        told = f"why takes a result; this is {kind_of(result)}{more}"
        raise ArgumentError(told, remedy="run(..)")
    if jobs is not None and jobs < 1:
        raise ArgumentError(f"jobs is {jobs}", allowed="a whole number from 1, such as 2")

    def said(message: dict[str, Any], files: list[int]) -> None:
        if progress is not None:
            progress(message["done"], message["of"])

    more = {"what_if": what_if, "jobs": jobs or len(os.sched_getaffinity(0))}
    return Why(result._ask("why", more, said))


class Comparison(Told):
    """How runs differ from the first: ``baseline``, ``others`` and ``conditions``."""

    def holds(self) -> bool:
        """Whether any of the conditions does."""
        return any(one["holds"] for one in self.summary["conditions"])


def compare(
    first: Result, *others: Result, names: Sequence[str] | None = None, conditions: Sequence[str] = ()
) -> Comparison:
    """How runs differ from the first of them, in figures and pass by pass.

    ``conditions`` such as ``"makespan>+1%"`` or ``"peak_memory<-1GiB"`` are asked of each of the
    others; :meth:`Comparison.holds` answers.

    >>> before, after = run_many([scenario, scenario.with_(p2p_time="1 ms")])
    >>> compare(before, after, names=["before", "after"], conditions=["makespan>+1%"]).holds()
    False
    """
    if not others:
        raise ArgumentError("compare takes two runs or more", remedy="compare(before, after)")
    for number, one in enumerate([first, *others], 1):
        of_type(one, Result, f"run {number} of compare", "a Result, as run(..) gives")
    runs = Results([first, *others])
    called = list(names) if names is not None else _names(runs)
    if len(called) != len(runs):
        raise ArgumentError(f"compare has {len(called)} names for {len(runs)} runs")
    return Comparison(runs._ask("compare", {"names": called, "conditions": list(conditions)}))


def _names(runs: Sequence[Result]) -> list[str]:
    schedules = [str(run.schedule) for run in runs]
    if len(set(schedules)) == len(schedules):
        return schedules
    return [f"run {number}" for number in range(1, len(schedules) + 1)]

