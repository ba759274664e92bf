"""Runs scenarios, one or many at a time."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import _worker
from ._files import without_folders
from ._results import Many, Result, Results
from ._scenario import Scenario
from ._tables import Tables
from ._words import in_python
from .errors import ArgumentError, Error, kind_of


def scenario_of(given: Any, what: str = "the scenario") -> Scenario:
    """A scenario, or what a mapping says."""
    if isinstance(given, (Scenario, Mapping)):
        return given if isinstance(given, Scenario) else Scenario(given)
    allowed = "a Scenario, or a mapping of its keys"
    if isinstance(given, (str, os.PathLike)):
        allowed += f"; Scenario.from_yaml({os.fspath(given)!r}) reads a file"
    raise ArgumentError(f"{what} is {kind_of(given)}", allowed=allowed)


def run(scenario: Scenario | Mapping[str, Any], *, rows: bool = True) -> Result | Results:
    """Simulates a scenario: a :class:`Result`, or :class:`Results` where ``schedule`` is a list.

    >>> result = run(Scenario(devices=4, microbatches=8, forward_times=1, backward_times=2))
    >>> result.makespan_s
    33.0

    ``rows=False`` leaves out the rows of passes, transfers and so on, which saves memory; they are
    simulated when they are asked for. Other threads go on meanwhile; an interrupt ends it.
    """
    runs = _run(scenario_of(scenario), rows)
    return runs[0] if len(runs) == 1 else Results(runs)


def _run(scenario: Scenario, rows: bool, writes: bool = True) -> list[Result]:
    found: list[Result] = []

    def said(message: dict[str, Any], files: list[int]) -> None:
        packing, number = message.get("packing"), len(found)
        for titled in (message["run"], (packing or {}).get("info", {})):
            if "network" in titled:  # a cluster of one's own is called by its name
                titled["network"] = without_folders(titled["network"])
        tables = Tables(packing, files[0]) if packing else None
        again = functools.partial(_again, scenario, number)
        found.append(Result(message["run"], tables, message["took_s"], again))

    answer = _worker.request("run", {"rows": rows}, said, scenario=scenario._json())
    for result in found:
        result.notes = [in_python(note) for note in answer["notes"]]
    if writes:
        _write(scenario, found)
    return found


def _again(scenario: Scenario, number: int) -> Result:
    return _run(scenario, rows=True, writes=False)[number]


def _write(scenario: Scenario, found: list[Result]) -> None:
    """The files that a scenario asks for by its keys ``output`` and ``trace``."""
    files, trace = scenario.outputs
    if trace and len(found) > 1:
        raise Error(
            "trace is the file of a single run, and this scenario has several schedules",
            key="trace",
            suggestion="save each result by itself",
        )
    if files:
        Results(found).save(*files)
    if trace:
        found[0].save_trace(trace)


def run_many(
    scenarios: Iterable[Scenario | Mapping[str, Any]], *, jobs: int | None = None, rows: bool = False
) -> Many:
    """Simulates scenarios, ``jobs`` at a time (as many as this process has processors).

    What is given back is in their order: a sequence of results, which has them as a data frame
    (``to_pandas``) and as a table. Where one cannot run stands its :class:`Error`; ``ok`` has the
    others alone. Without ``rows`` each result keeps its numbers alone, and simulates its rows when
    they are asked for.

    >>> results = run_many(scenario.with_(microbatches=n) for n in (8, 16, 32))
    >>> [round(one.bubble_ratio, 3) for one in results]
    [0.273, 0.158, 0.086]
    """
    if isinstance(scenarios, (Scenario, Mapping, str, os.PathLike)) or not hasattr(
        scenarios, "__iter__"
    ):
        raise ArgumentError(
            f"run_many takes several scenarios; this is {kind_of(scenarios)}; run takes one",
            remedy="run_many([one, other])",
        )
    if jobs is not None and jobs < 1:
        raise ArgumentError(f"jobs is {jobs}", allowed="a whole number from 1, such as 2")

    def one(scenario: Scenario | Mapping[str, Any]) -> Result | Results | Error:
        try:
            return run(scenario, rows=rows)
        except Error as error:
            return error

    threads = ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0)))
    try:
        return Many(threads.map(one, scenarios))
    except BaseException:  # an interrupt: nobody wants what still runs
        threads.shutdown(wait=False, cancel_futures=True)
        _worker.end_all()
        raise
    finally:
        threads.shutdown(wait=False)
