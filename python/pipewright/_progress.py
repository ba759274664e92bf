"""Progress of searches, and a line that shows it on a terminal or below a notebook's cell."""

from __future__ import annotations

import contextlib
import html
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ._values import typed

#: Figures of a search's report that have another name in results of runs, with that name.
NAMES = {"time_s": "makespan_s", "peak_bytes": "peak_memory_bytes"}


class Progress:
    """Progress of a search."""

    def __init__(self, report: dict[str, Any], axis_names: Mapping[str, str] | None = None) -> None:
        #: "bounds" (each candidate is bounded), "best" (candidates that may be the best are
        #: simulated), "front" (candidates that may be on the Pareto front are simulated), "done".
        self.phase: str = report["phase"]
        #: Number of candidates, in total and by outcome.
        self.candidates: int = report["candidates"]
        self.outcomes: dict[str, int] = report["outcomes"]
        simulated = self.outcomes["simulated"] + self.outcomes["failed"]
        #: Number of candidates finished in this phase, and the largest number that it may need.
        self.done: int = report["assessed"] if self.phase == "bounds" else simulated
        self.of: int = (
            self.candidates if self.phase == "bounds" else simulated + report["still_needed"]
        )
        #: Figures of the best candidate so far, with its values of the axes in ``values``; None if
        #: there is none.
        self.best: dict[str, Any] | None = None
        if report["best"] is not None:
            self.best = {NAMES.get(name, name): value for name, value in report["best"].items()}
            texts = report["best"]["values"].items()
            self.best["values"] = {key: typed(text, key) for key, text in texts}
        #: Upper bound of the share by which any candidate can still be better than the best so far.
        self.gap: float | None = report.get("gap")

    def __repr__(self) -> str:
        return f"<Progress {self}>"

    def __str__(self) -> str:
        text = f"{self.phase}: {self.done}/{self.of}"
        if self.best is not None:
            values = ", ".join(
                f"{key.rsplit('.', 1)[-1]} {value}" for key, value in self.best["values"].items()
            )
            text += f", best {values}: {self.best['makespan_s']:.4g} s"
            text += "" if self.gap is None else f", gap {self.gap:.1%}"
        return text


#: Seconds of a run until its progress is shown, and until the first line in a log.
_QUIET = 2.0
_QUIET_IN_LOGS = 10.0
#: Largest number of seconds between lines in a log.
_LONGEST_SILENCE = 60.0


@contextlib.contextmanager
def shown_passes(enabled: bool | None) -> Iterator[Callable[[dict[str, Any]], None] | None]:
    """Shows the passes that a long run has simulated, as the program reports them.

    By default they are shown on terminals and in notebooks after two seconds, and as lines at growing
    intervals if standard error is a log. Nothing is shown, and None given, for runs in other threads.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if enabled is False or (enabled is None and not is_main):
        yield None
        return
    with shown_progress(enabled, in_logs=True) as show:
        yield _Passes(show)


class _Passes:
    """Shows the passes that a run has simulated, and the time that is left."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._began = time.monotonic()
        self._first: dict[str, Any] = {}  # the first report on the schedule, and its time

    def __call__(self, report: dict[str, Any]) -> None:
        now = time.monotonic()
        if report["schedule"] != self._first.get("schedule"):
            self._first = {**report, "time": now}
        elif now - self._began >= _QUIET:
            rate = (report["done"] - self._first["done"]) / (now - self._first["time"])
            passes = f"{report['done']} of {report['of']} passes"
            left = (report["of"] - report["done"]) / rate
            self._show(f"run {report['schedule']}: {passes}, {left:.0f} s left")


@contextlib.contextmanager
def shown_progress(
    enabled: bool | None, in_logs: bool = False
) -> Iterator[Callable[[str], None]]:
    """Shows a line that replaces the previous one, until the block ends.

    By default there is a line on terminals and in notebooks, and with ``in_logs`` also lines at
    growing intervals if standard error is a log.
    """
    display = _notebook_display()
    if display is not None and enabled is not False:
        yield display.update_text
        display.update_text("")
    elif enabled or (enabled is None and sys.stderr.isatty()):
        try:
            yield _on_terminal
        finally:
            _on_terminal("")
    elif enabled is None and in_logs:
        yield _LogLines()
    else:
        yield lambda text: None


def _on_terminal(text: str) -> None:
    # Without a terminal, lines cannot be erased, so each is printed separately.
    ends = ("\r\x1b[K", "") if sys.stderr.isatty() else ("", "\n")
    if text or ends[0]:
        print(f"{ends[0]}{text}", end=ends[1], file=sys.stderr, flush=True)


class _LogLines:
    """Prints lines at growing intervals."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._due = _QUIET_IN_LOGS

    def __call__(self, text: str) -> None:
        now = time.monotonic() - self._began
        if now >= self._due:
            print(text, file=sys.stderr, flush=True)
            self._due = now + min(now, _LONGEST_SILENCE)


class _Line:
    """Output of a cell that can be replaced."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._handle: Any = None
        self._display = display

    def update_text(self, text: str) -> None:
        if self._handle is None and not text:
            return
        shown = {"text/plain": text, "text/html": html.escape(text)}
        if self._handle is None:
            self._handle = self._display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)


def _notebook_display() -> _Line | None:
    """Display of the notebook that runs this code, or None."""
    shell = sys.modules.get("IPython")
    instance = shell.get_ipython() if shell is not None else None
    if instance is None or not hasattr(instance, "kernel"):
        return None
    return _Line(importlib.import_module("IPython.display").display)
