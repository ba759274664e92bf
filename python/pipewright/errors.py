"""What can go wrong, as exceptions whose fields say where and what would be right."""

from __future__ import annotations

from typing import Any, TypeVar


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


class ArgumentError(Error, TypeError):
    """An argument of another kind than a function takes, or a keyword that it does not have."""


class KeywordError(ScenarioError, ArgumentError):
    """A keyword that is no key of a scenario."""


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


def from_worker(described: dict[str, Any], is_spoken: bool = True) -> BaseException:
    """The exception that a worker's description stands for; ``is_spoken``: in Python's words."""
    from ._files import without_folders
    from ._words import in_python, key_of, keyword_of

    kind, text = described.pop("kind"), without_folders(described.pop("text"))
    if kind == "MemoryError":
        return MemoryError("not enough memory for a run of this size")
    if is_spoken:
        text = in_python(text)
        described["remedy"] = in_python(described.get("remedy") or "") or None
    key = described.pop("key", None)
    key = keyword_of(key) if key and key.startswith("-") else key
    return _KINDS.get(kind, InternalError)(text, **described, key=key or key_of(text))


_T = TypeVar("_T")


def of_type(value: Any, kind: type[_T] | tuple[type[_T], ...], what: str, allowed: str) -> _T:
    """The value, where it is of a kind that is taken; else an error that says what would be right.

    >>> of_type(3, str, "file", "a path")
    Traceback (most recent call last):
    pipewright.errors.ArgumentError: file is of type int; allowed: a path
    """
    if isinstance(value, kind):
        found: _T = value
        return found
    raise ArgumentError(f"{what} is {kind_of(value)}; allowed: {allowed}", remedy=allowed)


def kind_of(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
