"""Reports of the program: figures as attributes, lists of them as tables."""

from __future__ import annotations

import os
from typing import Any

from ._display import text_html
from ._figures import Figures
from ._table import Table


class Report(Figures):
    """Figures of a report as attributes, under the names that ``--json`` prints.

    A list of rows is a :class:`Table`, a map of figures a report of its own. ``summary`` has all of
    it as dicts and lists; ``print(report)`` shows the text of the command.
    """

    def __init__(self, summary: dict[str, Any], text: str = "", notes: list[str] | None = None):
        #: All figures, as dicts and lists.
        self.summary = summary
        #: Notes that the command printed.
        self.notes = notes or []
        self._text = text

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        if isinstance(value, dict):
            return Report(value)
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            return Table.of(value)
        return value

    def __getitem__(self, name: str) -> Any:
        return self.summary[name]

    def __str__(self) -> str:
        return self._text or repr(self)

    def __repr__(self) -> str:
        shown = (
            f"{name}={value!r}"
            for name, value in self.summary.items()
            if not isinstance(value, (list, dict))
        )
        return f"<{type(self).__name__} {', '.join(shown)}>"

    def _repr_html_(self) -> str:
        return text_html(str(self))


def save_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file atomically."""
    partial = f"{os.fspath(path)}.partial"
    with open(partial, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.replace(partial, path)
