"""Runs scenarios, one or many at a time."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar, cast

from . import _worker
from ._files import without_folders
from ._progress import shown_passes, shown_progress
from ._results import Many, Result, Results
from ._scenario import Scenario
from ._tables import read_tables
from ._words import in_python, nearest, top_names
from .errors import ArgumentError, Error, check_jobs, kind_of, naming_missing_files, of_type

#: Seconds between updates of the progress.
_PAUSE = 0.2

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _takes_scenarios(function: _Function) -> _Function:
    """Makes an unknown keyword an error that names the place of scenario keys."""
    keywords = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        for name in named:
            if name in keywords:
                continue
            whole = f"Scenario({name}=.., ..)"
            call = f"{function.__name__}({whole if keywords[0] == 'scenario' else f'[{whole}]'})"
            near = None if name in top_names() else nearest(name, keywords)
            raise ArgumentError(
                f"{function.__name__} has no keyword {name!r}",
                key=name,
                suggestion=near or f"keys belong to a scenario, as in {call}",
                suggests_name=near is not None,
            )
        return function(*arguments, **named)

    return cast(_Function, checked)


def scenario_of(source: Any, name: str = "the scenario") -> Scenario:
    """A scenario from a scenario or a mapping; ``name`` is its name in errors."""
    if isinstance(source, (Scenario, Mapping)):
        return source if isinstance(source, Scenario) else Scenario(source)
    allowed = "a Scenario, or a mapping of its keys"
    if isinstance(source, (str, os.PathLike)):
        allowed += f"; Scenario.from_yaml({os.fspath(source)!r}) reads a file"
    raise ArgumentError(f"{name} is {kind_of(source)}", allowed=allowed)


@_takes_scenarios
def run(
    scenario: Scenario | Mapping[str, Any], *, rows: bool = True, bar: bool | None = None
) -> Result:
    """Simulates a scenario with one schedule; :func:`runs` takes several schedules, :func:`run_many`
    several scenarios.

    Unlike :func:`search`, it takes the keys of a scenario as a :class:`Scenario` or a mapping:
    ``run(Scenario(cluster=.., model=.., ..))``.

    >>> result = run(Scenario(devices=4, microbatches=8, forward_times=1, backward_times=2))
    >>> result.makespan_s
    33.0

    ``rows=False`` leaves out the rows of passes, transfers and so on to save memory; accessing them
    simulates again. Other threads keep running; an interrupt stops the simulation. ``bar`` shows the
    progress of a long run: by default on terminals and below a notebook's cell after two seconds,
    and as lines of a log after ten.
    """
    whole = scenario_of(scenario)
    if len(whole.schedules) != 1:
        raise ArgumentError(
            f"the scenario has {len(whole.schedules)} schedules, and run gives a single result",
            key="schedule",
            suggestion="runs(scenario) gives a result for each schedule",
            remedy="runs(scenario)",
        )
    return _run(whole, rows, bar)[0]


@_takes_scenarios
def runs(
    scenario: Scenario | Mapping[str, Any], *, rows: bool = True, bar: bool | None = None
) -> Results:
    """Simulates a scenario with each of its schedules, which a notebook shows side by side; ``rows``
    and ``bar`` are those of :func:`run`.

    >>> [result.schedule for result in runs(scenario.with_(schedule=["1f1b", "gpipe"]))]
    ['1f1b', 'gpipe']
    """
    return Results(_run(scenario_of(scenario), rows, bar))


def _run(
    scenario: Scenario, rows: bool, bar: bool | None = False, writes: bool = True
) -> list[Result]:
    results: list[Result] = []

    def on_message(message: dict[str, Any], files: list[int]) -> None:
        if "progress" in message:
            assert on_passes is not None
            on_passes(message["progress"])
            return
        packing, number = message.get("packing"), len(results)
        for titled in (message["run"], (packing or {}).get("info", {})):
            if "network" in titled:  # a stored cluster is shown by its name
                titled["network"] = without_folders(titled["network"])
        tables = read_tables(packing, files[0]) if packing else None
        again = functools.partial(_again, scenario, number)
        results.append(Result(message["run"], tables, message["took_s"], again))

    with shown_passes(bar) as on_passes:
        arguments = {"rows": rows, "progress": on_passes is not None}
        answer = _worker.request("run", arguments, on_message, scenario=scenario._json())
    for result in results:
        result.notes = [in_python(note) for note in answer["notes"]]
    if writes:
        _write(scenario, results)
    return results


def _again(scenario: Scenario, number: int) -> Result:
    return _run(scenario, rows=True, writes=False)[number]


def _write(scenario: Scenario, results: list[Result]) -> None:
    """Writes the files of the keys ``output`` and ``trace``."""
    files, trace = scenario.outputs
    if trace and len(results) > 1:
        raise Error(
            "trace holds a single run, but the scenario has several schedules",
            key="trace",
            suggestion="save each result separately",
        )
    if files:
        Results(results).save(*files)
    if trace:
        results[0].save_trace(trace)


@_takes_scenarios
def run_many(
    scenarios: Iterable[Scenario | Mapping[str, Any]],
    *,
    jobs: int | None = None,
    rows: bool = False,
    bar: bool | None = None,
) -> Many:
    """Simulates scenarios, ``jobs`` at a time (default: the processors of this process).

    Returns the results in the order of the scenarios, one for each schedule, with a table and a data
    frame (``to_pandas``) that has the keys in which the scenarios differ. A scenario that cannot run
    has an :class:`Error` in its place; ``ok`` has only the results. Without ``rows``, results have
    only figures; accessing rows simulates again. ``bar`` shows progress on a terminal, or below a
    notebook's cell.

    >>> results = run_many(scenario.with_(microbatches=n) for n in (8, 16, 32))
    >>> [round(result.bubble_ratio, 3) for result in results.ok]
    [0.273, 0.158, 0.086]
    >>> [int(number) for number in results.table["microbatches"]]
    [8, 16, 32]
    """
    if isinstance(scenarios, (Scenario, Mapping, str, os.PathLike)) or not hasattr(
        scenarios, "__iter__"
    ):
        raise ArgumentError(
            f"run_many takes several scenarios, not {kind_of(scenarios)}; run takes one",
            remedy="run_many([first, second])",
        )
    check_jobs(jobs)

    def results_of(scenario: Scenario | Mapping[str, Any]) -> Sequence[Result | Error]:
        try:
            return _run(scenario_of(scenario), rows)
        except Error as error:
            return [error]

    listed = list(scenarios)
    threads = ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0)))
    try:
        futures = [threads.submit(results_of, scenario) for scenario in listed]
        with shown_progress(bar) as show:
            waiting = set(futures)
            while waiting:
                waiting = wait(waiting, _PAUSE).not_done
                show(f"run_many {len(futures) - len(waiting)}/{len(futures)}")
        return Many.of([future.result() for future in futures], listed)
    except BaseException:  # an interrupt: the running simulations are not needed
        threads.shutdown(wait=False, cancel_futures=True)
        _worker.end_all()
        raise
    finally:
        threads.shutdown(wait=False)


def open_run(file: str | os.PathLike[str]) -> Result:
    """Reads a trace file (.h5), which ``save`` and ``pipewright run --trace`` write.

    >>> result.save("run.h5")
    >>> open_run("run.h5").makespan_s == result.makespan_s
    True
    """
    of_type(file, (str, os.PathLike), "the file", "the path of a trace file (.h5)")
    results: list[Result] = []

    def on_message(message: dict[str, Any], files: list[int]) -> None:
        results.append(Result(message["run"], read_tables(message["packing"], files[0]), 0.0))

    with naming_missing_files(file):
        _worker.request("open", {"file": os.fspath(file)}, on_message)
    return results[0]
