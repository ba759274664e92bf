"""How far a search is; and a line that tells it, on a terminal or below a notebook's cell."""

from __future__ import annotations

import contextlib
import html
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ._values import typed

#: Names of figures that results of runs have, too, by the name that the search's report has.
NAMES = {"time_s": "makespan_s", "peak_bytes": "peak_memory_bytes"}


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
        #: The figures of the best so far, and its ``values`` by key; None before there is one.
        self.best: dict[str, Any] | None = None
        if said["best"] is not None:
            self.best = {NAMES.get(name, name): value for name, value in said["best"].items()}
            texts = said["best"]["values"].items()
            self.best["values"] = {key: typed(text, key) for key, text in texts}
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
            text += f", best {values}: {self.best['makespan_s']:.4g} s"
            text += "" if self.gap is None else f", gap {self.gap:.1%}"
        return text


@contextlib.contextmanager
def shown_progress(wanted: bool | None) -> Iterator[Callable[[str], None]]:
    """Shows a line in the place of the one before, until the block ends.

    Where nothing is ``wanted`` in particular, there is one on terminals and in notebooks.
    """
    display = _notebook_display()
    if display is not None and wanted is not False:
        yield display.update_text
        display.update_text("")
    elif wanted or (wanted is None and sys.stderr.isatty()):
        try:
            yield _on_terminal
        finally:
            _on_terminal("")
    else:
        yield lambda text: None


def _on_terminal(text: str) -> None:
    # Where lines cannot be taken back, each stands on its own.
    ends = ("\r\x1b[K", "") if sys.stderr.isatty() else ("", "\n")
    if text or ends[0]:
        print(f"{ends[0]}{text}", end=ends[1], file=sys.stderr, flush=True)


class _Line:
    """An output of a cell that is written anew."""

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
    """Of the notebook that this runs in, if it does."""
    shell = sys.modules.get("IPython")
    instance = shell.get_ipython() if shell is not None else None
    if instance is None or not hasattr(instance, "kernel"):
        return None
    return _Line(importlib.import_module("IPython.display").display)
