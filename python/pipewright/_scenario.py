"""Scenarios: one question, this pipeline on that cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import _core
from ._keys import KeysOfScenario
from .errors import ScenarioError

_LIBRARY = Path(__file__).parent / "share" / "pipewright" / "platforms"
if _LIBRARY.is_dir():  # installed; else the source tree's
    _core.set_own_library(str(_LIBRARY))


@contextlib.contextmanager
def scenario_errors() -> Iterator[None]:
    """Raises what the extension finds wrong as what users catch."""
    try:
        yield
    except _core.ConfigError as error:
        raise ScenarioError(*error.args[:1], **(error.args[1] if len(error.args) > 1 else {})) from None


class Scenario(KeysOfScenario):
    """What is simulated: every key of the scenario reference is one here, by its own name.

    >>> one = Scenario(devices=4, microbatches=8, forward_times="18 ms", backward_times="36 ms")
    >>> one["microbatches"]
    '8'
    >>> other = one.with_({"schedule.name": "gpipe"}, microbatches=16)

    Sections are mappings, ``parallel=dict(tp=8, pp=4)``; ``model`` is also what transformers has as
    a model's configuration. What cannot be is told when a scenario is made, by a
    :class:`ScenarioError`; a scenario does not change. Paths are from the current folder, those in
    a file from the file's.
    """

    __slots__ = ("_tree", "_checked")
    _tree: _core.Tree
    _checked: _core.Checked

    def _begin(self, base: Any, keys: dict[str, Any]) -> None:
        with scenario_errors():
            tree = base._tree if isinstance(base, Scenario) else _core.Tree.from_object(base or {})
            for key, value in keys.items():
                tree = tree.with_key(key, value)
        self._take(tree)

    def _take(self, tree: _core.Tree) -> None:
        self._tree = tree
        with scenario_errors():
            self._checked = tree.checked()

    @classmethod
    def _of(cls, tree: _core.Tree) -> Scenario:
        made = cls.__new__(cls)
        made._take(tree)
        return made

    @classmethod
    def from_yaml(cls, source: str | os.PathLike[str]) -> Scenario:
        r"""From a file of YAML or JSON; or from such a text, which has more than one line.

        >>> one = Scenario.from_yaml("devices: 2\nmicrobatches: 4\nforward_times: 1\nbackward_times: 2")
        """
        with scenario_errors():
            if isinstance(source, str) and "\n" in source:
                return cls._of(_core.Tree.from_text(source, "the scenario"))
            return cls._of(_core.Tree.from_file(os.fspath(source)))

    def with_(self, changes: Mapping[str, Any] | None = None, /, **keys: Any) -> Scenario:
        """Another scenario that differs in these keys; in a mapping they may be dotted.

        None takes a key away.

        >>> scenario.with_({"schedule.name": "gpipe"}, microbatches=64)["schedule.name"]
        'gpipe'
        """
        tree = self._tree
        with scenario_errors():
            for key, value in {**(changes or {}), **keys}.items():
                tree = tree.with_key(key, value)
        return self._of(tree)

    def to_dict(self) -> dict[str, Any]:
        """As nested dicts and lists; numbers are texts, as they were written."""
        whole: dict[str, Any] = self._tree.object()
        return whole

    def to_yaml(self, whole: bool = False) -> str:
        """As it was asked; ``whole``: with model and GPU spelled out, and with whole paths."""
        return self._checked["yaml"] if whole else self._tree.yaml()

    @property
    def schedules(self) -> list[str]:
        """The names of its schedules."""
        return list(self._checked["schedules"])

    @property
    def outputs(self) -> tuple[list[str], str | None]:
        """The files that it says a run writes, and that of the trace."""
        return list(self._checked["outputs"]), self._checked["trace"]

    def __getitem__(self, key: str) -> Any:
        value: Any = self.to_dict()
        for part in key.split("."):
            value = value[int(part) if isinstance(value, list) else part]
        return value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        return self._checked["yaml"] == other._checked["yaml"]

    def __hash__(self) -> int:
        return hash(self._checked["yaml"])

    def __repr__(self) -> str:
        return self.to_yaml()

    def _json(self) -> str:
        """With the places of its values, for a worker."""
        return self._tree.json()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, (self._json(),))


def _unpickled(tree: str) -> Scenario:
    return Scenario._of(_core.Tree.from_json(tree))
