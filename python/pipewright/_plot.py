"""Pictures of runs by name."""

from __future__ import annotations

from collections.abc import Callable

from ._display import Picture


class Plot:
    """The pictures of a run, which a notebook shows and ``save`` writes as .svg.

    >>> result.plot.timeline().save("timeline.svg")
    """

    def __init__(self, picture: Callable[[str], Picture]) -> None:
        self._picture = picture

    def __call__(self) -> Picture:
        """The timeline."""
        return self.timeline()

    def timeline(self) -> Picture:
        """The passes of each device over time."""
        return self._picture("timeline")

    def memory(self) -> Picture:
        """The memory of each device over time, by category."""
        return self._picture("memory")

    def tradeoff(self) -> Picture:
        """Time against memory, with a mark for each run."""
        return self._picture("tradeoff")

    def bubbles(self) -> Picture:
        """The bubble ratio of each run."""
        return self._picture("bubbles")
