"""Runs scenarios, one or many at a time."""

from __future__ import annotations

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


def _run(scenario: Scenario, rows: bool) -> list[Result]:
    found: list[tuple[dict[str, Any], Tables | None]] = []

    def said(message: dict[str, Any], files: list[int]) -> None:
        packing = message.get("packing")
        found.append((message["run"], Tables(packing, files[0]) if packing else None))

    answer = _worker.request("run", {"rows": rows}, said, scenario=scenario._json())
    return [
        Result(summary, tables, answer["notes"], lambda number=number: _run(scenario, True)[number])
        for number, (summary, tables) in enumerate(found)
    ]


def run_many(
    scenarios: Iterable[Scenario | Mapping[str, Any]], *, jobs: int | None = None, rows: bool = False
) -> list[Result | Results | Error]:
    """Simulates scenarios, ``jobs`` at a time (as many as this process has processors).

    The list is in their order; where one cannot run stands its :class:`Error`. Without ``rows``
    each result keeps its numbers alone, and simulates its rows when they are asked for.

    >>> results = run_many(scenario.with_(microbatches=n) for n in (8, 16, 32))
    >>> [one.bubble_ratio for one in results]
    """

    def one(scenario: Scenario | Mapping[str, Any]) -> Result | Results | Error:
        try:
            return run(scenario, rows=rows)
        except Error as error:
            return error

    threads = ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0)))
    try:
        return list(threads.map(one, scenarios))
    except BaseException:
        _worker.end_all()
        raise
    finally:
        threads.shutdown(cancel_futures=True)
