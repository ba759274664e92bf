"""The numbers of a result as attributes."""

from __future__ import annotations

from typing import Any


class Figures:
    """Reads attributes out of ``summary``."""

    summary: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        summary = self.__dict__.get("summary", {})
        if name in summary:
            return summary[name]
        raise AttributeError(f"a result has no {name!r}; its numbers: {', '.join(summary)}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.summary})
