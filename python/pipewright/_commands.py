"""Commands of the program that the package carries, called by their words."""

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

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Output:
    """What a command printed: its status, its standard output, and its notes to the reader."""

    status: int
    text: str
    notes: list[str]

    def json(self) -> Any:
        return json.loads(self.text)


def command(*words: Any) -> Output:
    """Runs a command with these words, and raises what it says is wrong."""
    return output_of(_worker.request("command", {"words": [word_of(word) for word in words]}))


def output_of(answer: dict[str, Any]) -> Output:
    notes = [line.removeprefix("pipewright: ") for line in answer["notes"].splitlines()]
    return Output(answer["status"], answer["output"], notes)


def word_of(value: Any) -> str:
    """A value as it is written on a command line."""
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    return repr(float(value)) if isinstance(value, float) else str(value)


def options(**given: Any) -> Iterator[str]:
    """Keyword arguments as options: ``time_limit=3`` is ``--time-limit 3``, True a flag alone.

    None and False leave an option out; lists give it several words.
    """
    for name, value in given.items():
        if value is None or value is False:
            continue
        yield "--" + name.replace("_", "-")
        if value is True:
            continue
        yield from map(word_of, several(value))


def several(value: Any) -> Iterable[Any]:
    """The values of a list, or the one value that is given instead."""
    is_one = isinstance(value, (str, os.PathLike, Mapping)) or not hasattr(value, "__iter__")
    return [value] if is_one else list(value)


@contextmanager
def scenario_file(scenario: Any, name: str = "scenario.yaml") -> Iterator[str]:
    """The path of a file that says a scenario, for as long as the block lasts."""
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
