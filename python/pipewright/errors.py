"""Exceptions of the package, with the place of the fault and the remedy as fields."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar


class Error(Exception):
    """An error that the user can fix. ``str(error)`` is the whole message.

    The fields are its parts; unknown parts are None:

    >>> try:
    ...     Scenario(devices=4, microbatches=8, forward_times="3 parsecs", backward_times=1)
    ... except Error as error:
    ...     print(error.key, error.allowed, sep=": ")
    forward_times: a pass time from 0 to 1e9 s, such as 18.5 ms; ...
    """

    #: What is wrong, without the place: ``"parallel.tp is 0"``.
    found: str
    #: File that contains the fault, and its line and column (from 1).
    file: str | None
    line: int | None
    column: int | None
    #: Dotted scenario key at fault: ``"parallel.tp"``.
    key: str | None
    #: The values that are allowed.
    allowed: str | None
    #: How to correct the fault; if ``suggests_name``, the name that was probably meant.
    suggestion: str | None
    suggests_name: bool

    def __init__(
        self,
        found: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        source: str | None = None,
        key: str | None = None,
        allowed: str | None = None,
        suggestion: str | None = None,
        suggests_name: bool = False,
        remedy: str | None = None,
    ) -> None:
        super().__init__(found)
        self.found = found
        self.file = file
        self.line = line
        self.column = column
        self.key = key
        self.allowed = allowed
        self.suggestion = suggestion
        self.suggests_name = suggests_name
        self._source = source  # a place other than a file, such as a keyword
        self._remedy = remedy

    @property
    def remedy(self) -> str | None:
        """The remedy in short: the suggestion, or else the allowed values."""
        return self._remedy or self.suggestion or self.allowed

    def __str__(self) -> str:
        text = self.found
        if self.suggestion:
            name = f"did you mean {self.suggestion!r}?" if self.suggests_name else self.suggestion
            text += f"; {name}"
        listing = _LISTINGS.get(self.key or "") if self.suggests_name else None
        if listing:
            text += f" {listing} lists them"
        elif self.allowed:
            text += f"{'' if self.suggests_name else ';'} allowed: {self.allowed}"
        place = [str(part) for part in (self.file or self._source, self.line, self.column) if part]
        return f"{':'.join(place)}: {text}" if place else text

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, (type(self), self.found, dict(self.__dict__)))


#: For scenario keys that take a name of the library, the function that lists these names. Messages
#: mention it in place of a long list.
_LISTINGS = {"cluster": "platform.names()", "model": "models()", "gpu": "gpus()", "stack": "stacks()"}


def _unpickled(kind: type[Error], found: str, fields: dict[str, Any]) -> Error:
    error = kind(found)
    error.__dict__.update(fields)
    return error


class ScenarioError(Error, ValueError):
    """A fault in a scenario: an unknown key, a wrong value, or keys that contradict each other."""


class ClusterError(Error, ValueError):
    """A fault in a platform file or in the use of one."""


class ScheduleError(Error, ValueError):
    """A schedule that is impossible or does not fit the scenario."""

    #: The device at fault and the index in its list of passes, both from 0.
    device: int | None = None
    step: int | None = None


class Deadlock(ScheduleError):
    """A schedule whose devices wait for each other forever."""


class ConditionError(Error, ValueError):
    """A condition of a comparison that cannot be parsed or evaluated."""


class TraceError(Error):
    """A trace that cannot be read or written."""


class ArgumentError(Error, TypeError):
    """An argument of the wrong type, or a keyword that the function does not have."""


class UnknownOption(Error):
    """An option that a command of the program does not have; callers get an :class:`ArgumentError`.

    ``key`` is the keyword at fault, and ``options`` lists the options of the command.
    """

    def __init__(self, found: str, *, options: Sequence[str] = (), **parts: Any) -> None:
        super().__init__(found, **parts)
        self.options = tuple(options)


class KeywordError(ScenarioError, ArgumentError):
    """A keyword that is not a scenario key."""


class UnknownNameError(Error, KeyError):
    """A column, table or schedule that a result does not have."""


class AxisError(Error, ValueError):
    """An axis that a search does not have, or that has a single value there."""


class MissingFileError(Error, FileNotFoundError):
    """A file that does not exist; ``filename`` is its path."""


class MissingTraceError(MissingFileError, TraceError):
    """A trace or a file of measurements that does not exist."""


class MissingScenarioError(MissingFileError, ScenarioError):
    """The file of a scenario, a sweep or a job that does not exist."""


class MissingPackageError(Error, ModuleNotFoundError):
    """A Python package, such as pandas, that is needed and not installed."""


class InternalError(Error):
    """A defect of pipewright itself; please report it."""


_MISSING: dict[type[Error], type[MissingFileError]] = {
    TraceError: MissingTraceError,
    ScenarioError: MissingScenarioError,
}


@contextlib.contextmanager
def naming_missing_files(*files: Any) -> Iterator[None]:
    """Raises an error of the block as a :class:`MissingFileError` if one of its files is missing.

    Files that are not paths, such as results, and patterns with braces do not count.
    """
    try:
        yield
    except Error as error:
        paths = [os.fspath(file) for file in files if isinstance(file, (str, os.PathLike))]
        missing = [path for path in paths if "{" not in path and not os.path.exists(path)]
        if not missing or isinstance(error, MissingFileError):
            raise
        named = _unpickled(_MISSING.get(type(error), MissingFileError), error.found, vars(error))
        assert isinstance(named, MissingFileError)
        named.errno, named.filename = errno.ENOENT, missing[0]
        raise named from None


_T = TypeVar("_T")


def of_type(value: Any, kind: type[_T] | tuple[type[_T], ...], name: str, allowed: str) -> _T:
    """Returns a value of the right type; otherwise raises an error with the allowed ones.

    >>> of_type(3, str, "file", "a path")
    Traceback (most recent call last):
    pipewright.errors.ArgumentError: file is of type int; allowed: a path
    """
    if isinstance(value, kind):
        checked: _T = value
        return checked
    raise ArgumentError(f"{name} is {kind_of(value)}", allowed=allowed)


def check_jobs(jobs: Any) -> None:
    """Raises an error unless ``jobs`` is None or a number of processes."""
    if jobs is None:
        return
    allowed = "a whole number from 1, such as 2"
    if of_type(jobs, int, "jobs", allowed) < 1:
        raise ArgumentError(f"jobs is {jobs}", allowed=allowed)


def kind_of(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
