"""What can go wrong, as exceptions whose fields say where and what would be right."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """A fault that a user can mend; ``str(error)`` is what the program prints.

    The fields say the same in parts, each None where it is not known:

    >>> try:
    ...     Scenario(devices=4, microbatches=8, forward_times="3 parsecs", backward_times=1)
    ... except Error as error:
    ...     print(error.key)
    forward_times
    """

    #: The file that says it, where one does.
    file: str | None
    #: Its line and column, from 1.
    line: int | None
    column: int | None
    #: The key of the scenario, dotted: ``"parallel.tp"``.
    key: str | None
    #: What would be right.
    remedy: str | None

    def __init__(
        self,
        text: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        key: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(text)
        self.file = file
        self.line = line
        self.column = column
        self.key = key
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        return (_again, (type(self), str(self), dict(self.__dict__)))


def _again(kind: type[Error], text: str, fields: dict[str, Any]) -> Error:
    error = kind(text)
    error.__dict__.update(fields)
    return error


class ScenarioError(Error, ValueError):
    """A scenario says what cannot be: an unknown key, a wrong value, keys that contradict."""


class ClusterError(Error, ValueError):
    """A platform file, or the use of one, that cannot work."""


class ScheduleError(Error, ValueError):
    """A schedule that cannot be, or does not fit the scenario."""

    #: Of a schedule's passes: the device at fault, and the place in its list, both from 0.
    device: int | None = None
    step: int | None = None


class Deadlock(ScheduleError):
    """Devices that wait for each other for ever."""


class ConditionError(Error, ValueError):
    """A condition of a comparison that cannot be read or answered."""


class TraceError(Error):
    """A trace that cannot be read or written."""


class InternalError(Error):
    """A fault of pipewright itself; please report it."""


_KINDS: dict[str, type[Error]] = {
    kind.__name__: kind
    for kind in (
        Error,
        ScenarioError,
        ClusterError,
        ScheduleError,
        Deadlock,
        ConditionError,
        TraceError,
    )
}


def from_worker(described: dict[str, Any]) -> BaseException:
    """The exception that a worker's description stands for."""
    kind, text = described.pop("kind"), described.pop("text")
    if kind == "MemoryError":
        return MemoryError("not enough memory for a run of this size")
    return _KINDS.get(kind, InternalError)(text, **described)
