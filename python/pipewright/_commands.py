"""Commands of the bundled program."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

from . import _worker
from ._scenario import Scenario
from ._words import in_python, keyword_of, nearest
from .errors import ArgumentError, UnknownOption

PathLike = str | os.PathLike[str]

#: Commands that have subcommands.
_GROUPS = ("comm", "platform", "schedule")


@dataclass(frozen=True)
class Output:
    """Output of a command: status, standard output and notes."""

    status: int
    text: str
    notes: list[str]

    def json(self) -> Any:
        return json.loads(self.text)


def command(*words: Any) -> Output:
    """Runs a command with these words; raises its errors."""
    texts = [word_of(word) for word in words]
    try:
        return output_of(_worker.request("command", {"words": texts}))
    except UnknownOption as error:
        raise _unknown_keyword(error, texts) from None


def _unknown_keyword(error: UnknownOption, words: list[str]) -> ArgumentError:
    """The error for an unknown keyword."""
    name = error.key or ""
    verb = words[:2] if words[0] in _GROUPS else words[:1]
    keywords = {keyword_of(option) for option in error.options} - {"help", "json", "output"}
    near = nearest(name, keywords)
    return ArgumentError(
        f"{'.'.join(verb)} has no keyword {name!r}",
        key=name,
        allowed=None if near else ", ".join(sorted(keywords)),
        suggestion=near,
        suggests_name=near is not None,
    )


def output_of(answer: dict[str, Any]) -> Output:
    notes = [
        in_python(line.removeprefix("pipewright: ")) for line in answer["notes"].splitlines()
    ]
    return Output(answer["status"], answer["output"], notes)


def word_of(value: Any) -> str:
    """Writes a value as a word of a command line."""
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    return repr(float(value)) if isinstance(value, float) else str(value)


def options(**arguments: Any) -> Iterator[str]:
    """Keyword arguments as options: ``time_limit=3`` is ``--time-limit 3``, True a flag alone.

    None and False leave out an option; a list gives it several words.
    """
    for name, value in arguments.items():
        if value is None or value is False:
            continue
        yield "--" + name.replace("_", "-")
        if value is True:
            continue
        yield from map(word_of, several(value))


def several(value: Any) -> Iterable[Any]:
    """The values of a list; a single value becomes a list."""
    is_single = isinstance(value, (str, os.PathLike, Mapping)) or not hasattr(value, "__iter__")
    return [value] if is_single else list(value)


@contextmanager
def scenario_file(scenario: Any, name: str = "scenario.yaml") -> Iterator[str]:
    """The path of a file with the scenario, which exists as long as the block."""
    if isinstance(scenario, (str, os.PathLike)) and "\n" not in str(scenario):
        yield os.fspath(scenario)
        return
    with TemporaryDirectory(prefix="pipewright-") as folder:
        yield write_scenario(scenario, os.path.join(folder, name))


def write_scenario(scenario: Any, path: str) -> str:
    if isinstance(scenario, Mapping):
        scenario = Scenario(scenario)
    text = scenario.to_yaml(whole=True) if isinstance(scenario, Scenario) else str(scenario)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
