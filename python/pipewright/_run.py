"""Runs scenarios, one or many at a time."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import _worker
from ._results import Result, Results
from ._scenario import Scenario
from ._tables import Tables
from .errors import Error


def run(scenario: Scenario | Mapping[str, Any], *, rows: bool = True) -> Result | Results:
    """Simulates a scenario: a :class:`Result`, or :class:`Results` where ``schedule`` is a list.

    >>> result = run(Scenario(devices=4, microbatches=8, forward_times=1, backward_times=2))
    >>> result.makespan_s
    33.0

    ``rows=False`` leaves out the rows of passes, transfers and so on, which saves memory; they are
    simulated when they are asked for. Other threads go on meanwhile; an interrupt ends it.
    """
    runs = _run(scenario if isinstance(scenario, Scenario) else Scenario(scenario), rows)
    return runs[0] if len(runs) == 1 else Results(runs)


def _run(scenario: Scenario, rows: bool, writes: bool = True) -> list[Result]:
    found: list[Result] = []

    def said(message: dict[str, Any], files: list[int]) -> None:
        packing, number = message.get("packing"), len(found)
        tables = Tables(packing, files[0]) if packing else None
        again = functools.partial(_again, scenario, number)
        found.append(Result(message["run"], tables, message["took_s"], again))

    answer = _worker.request("run", {"rows": rows}, said, scenario=scenario._json())
    for result in found:
        result.notes = answer["notes"]
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
            "trace: is the file of one run, and this scenario has several schedules; save each "
            "result by itself",
            key="trace",
            remedy="save each result by itself",
        )
    if files:
        Results(found).save(*files)
    if trace:
        found[0].save_trace(trace)


def run_many(
    scenarios: Iterable[Scenario | Mapping[str, Any]], *, jobs: int | None = None, rows: bool = False
) -> list[Result | Results | Error]:
    """Simulates scenarios, ``jobs`` at a time (as many as this process has processors).

    The list is in their order; where one cannot run stands its :class:`Error`. Without ``rows``
    each result keeps its numbers alone, and simulates its rows when they are asked for.

    >>> results = run_many(scenario.with_(microbatches=n) for n in (8, 16, 32))
    >>> [round(one.bubble_ratio, 3) for one in results]
    [0.273, 0.158, 0.086]
    """

    def one(scenario: Scenario | Mapping[str, Any]) -> Result | Results | Error:
        try:
            return run(scenario, rows=rows)
        except Error as error:
            return error

    threads = ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0)))
    try:
        return list(threads.map(one, scenarios))
    except BaseException:  # an interrupt: nobody wants what still runs
        threads.shutdown(wait=False, cancel_futures=True)
        _worker.end_all()
        raise
    finally:
        threads.shutdown(wait=False)
