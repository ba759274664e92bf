"""Scenarios: one question, this pipeline on that cluster."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from . import _core
from ._files import bring_along, store, stored_files
from ._keys import KeysOfScenario
from ._report import save_text
from ._values import typed
from ._words import suggested_key, some_of, top_names, with_keywords
from .errors import ArgumentError, KeywordError, ScenarioError, kind_of

_LIBRARY = Path(__file__).parent / "share" / "pipewright" / "platforms"
if _LIBRARY.is_dir():  # installed; a build uses the source tree
    _core.set_own_library(str(_LIBRARY))


@contextlib.contextmanager
def scenario_errors() -> Iterator[None]:
    """Raises errors of the extension as :class:`ScenarioError`."""
    try:
        yield
    except _core.ConfigError as error:
        parts = with_keywords(json.loads(error.args[0]))
        if parts.get("key", "").startswith("schedule[") and "suggestion" not in parts:
            parts["suggestion"] = "schedule.from_passes(..) makes a schedule from lists of passes"
        raise ScenarioError(**parts) from None


class Scenario(KeysOfScenario):
    """Input of a simulation, with the keys of the scenario reference as keywords.

    >>> scenario = Scenario(devices=4, microbatches=8, forward_times="18 ms",
    ...                     backward_times="36 ms")
    >>> scenario["microbatches"]
    8
    >>> gpipe = scenario.with_({"schedule.name": "gpipe"}, microbatches=16)

    Sections are mappings, ``parallel=dict(tp=8, pp=4)``; ``model`` may be a model
    configuration of transformers. Invalid scenarios raise a :class:`ScenarioError` when they are made.
    Scenarios are immutable. Paths are relative to the current folder, or to the folder of the
    file that has them.
    """

    __slots__ = ("_tree", "_checked")
    _tree: _core.Tree
    _checked: _core.Checked

    def _begin(self, base: Any, keys: dict[str, Any]) -> None:
        with scenario_errors():
            tree = base._tree if isinstance(base, Scenario) else tree_of(base)
            for key, value in keys.items():
                tree = tree.with_key(key, value)
        self._take(tree)
        self._check_schedules(keys.get("schedule"))

    def _check_schedules(self, value: Any) -> None:
        """Raises unless schedules scenario of passes have the scenario's devices and microbatches."""
        for schedule in value if isinstance(value, list) else [value]:
            if hasattr(schedule, "_check_sizes"):
                whole = self.to_dict()
                devices = whole.get("devices", whole.get("num_stages"))
                devices = devices or (whole.get("parallel") or {}).get("pp")
                schedule._check_sizes(devices, whole.get("microbatches", whole.get("num_batches")))

    def _take(self, tree: _core.Tree) -> None:
        self._tree = tree
        with scenario_errors():
            self._checked = tree.checked()
        _check_times(self.to_dict())

    @classmethod
    def _of(cls, tree: _core.Tree) -> Scenario:
        scenario = cls.__new__(cls)
        scenario._take(tree)
        return scenario

    @classmethod
    def from_yaml(cls, source: str | os.PathLike[str]) -> Scenario:
        r"""Reads a file of YAML or JSON, or a text with more than one line.

        >>> scenario = Scenario.from_yaml("devices: 2\nmicrobatches: 4\nforward_times: 1\nbackward_times: 2")
        """
        with scenario_errors():
            if isinstance(source, str) and "\n" in source:
                return cls._of(_core.Tree.from_text(source, "the scenario"))
            return cls._of(_core.Tree.from_file(os.fspath(source)))

    def with_(self, changes: Mapping[str, Any] | None = None, /, **keys: Any) -> Scenario:
        """Returns a scenario with these keys changed; a mapping may have dotted keys.

        None removes a key. A mapping replaces its whole section, and a warning names the keys that
        are lost; a dotted key changes a single key of a section.

        >>> scenario.with_({"schedule.name": "gpipe"}, microbatches=64)["schedule.name"]
        'gpipe'
        >>> job = Scenario(cluster="dgx-h100", model="llama-3-8b", parallel={"tp": 8, "pp": 4},
        ...                microbatches=8)
        >>> faster = job.with_({"variation.bandwidth": {"nic": 2}})  # NICs of twice the rate
        """
        if not isinstance(changes or {}, Mapping):
            raise ArgumentError(
                f"with_ takes a mapping of keys, not {kind_of(changes)}",
                suggestion="as in with_({'parallel.tp': 2}, microbatches=16)",
                remedy="with_({'parallel.tp': 2}, microbatches=16)",
            )
        tree = self._tree
        check_keywords(key for key in {**(changes or {}), **keys} if "." not in key)
        _warn_of_lost_keys(self.to_dict(), {**(changes or {}), **keys})
        with scenario_errors():
            for key, value in {**(changes or {}), **keys}.items():
                tree = tree.with_key(key, value)
        scenario = self._of(tree)
        scenario._check_schedules(keys.get("schedule", (changes or {}).get("schedule")))
        return scenario

    def to_dict(self) -> dict[str, Any]:
        """The scenario as nested dicts and lists; values with a unit are texts."""
        whole: dict[str, Any] = typed(self._tree.object())
        return whole

    def to_yaml(self, whole: bool = False) -> str:
        """The scenario as YAML; ``whole`` includes the model, the GPU and absolute paths.

        Unsaved clusters and schedules of your own are named by their paths in the user's cache;
        :meth:`save` copies them to the folder of the file.
        """
        return self._checked["yaml"] if whole else self._tree.yaml()

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the scenario as YAML, and your own clusters and schedules to the same folder.

        >>> scenario.save("mine.yaml")  # pipewright run mine.yaml
        """
        save_text(file, bring_along(file, self.to_yaml()))

    @property
    def schedules(self) -> list[str]:
        """Names of its schedules."""
        return list(self._checked["schedules"])

    @property
    def outputs(self) -> tuple[list[str], str | None]:
        """Files of the key ``output``, and the file of the key ``trace``."""
        return list(self._checked["outputs"]), self._checked["trace"]

    def __getitem__(self, key: str) -> Any:
        value: Any = self.to_dict()
        for part in key.split("."):
            value = value[int(part) if isinstance(value, list) else part]
        return value

    def __eq__(self, rhs: object) -> bool:
        if not isinstance(rhs, Scenario):
            return NotImplemented
        return self._checked["yaml"] == rhs._checked["yaml"]

    def __hash__(self) -> int:
        return hash(self._checked["yaml"])

    def __repr__(self) -> str:
        return self.to_yaml()

    def _json(self) -> str:
        """The tree for a worker, with the locations of values."""
        return self._tree.json()

    def __reduce__(self) -> tuple[Any, ...]:
        tree = self._json()
        return (_unpickled, (tree, stored_files(tree)))


def _unpickled(tree: str, files: Mapping[str, str]) -> Scenario:
    for path, text in files.items():
        here = store(text, os.path.basename(path))
        tree = tree.replace(json.dumps(path)[1:-1], json.dumps(here)[1:-1])
    return Scenario._of(_core.Tree.from_json(tree))


def tree_of(base: Any) -> _core.Tree:
    """The tree of a mapping."""
    if base is not None and not isinstance(base, Mapping):
        raise ArgumentError(
            f"a scenario is {kind_of(base)}",
            allowed="keywords, a mapping, or Scenario.from_yaml(..) of a file or a text",
            remedy="Scenario.from_yaml(..)",
        )
    return _core.Tree.from_object(base or {})


def check_keywords(names: Iterable[str], is_search: bool = False) -> None:
    """Raises a KeywordError, with the probable key, for a keyword that is not a key."""
    for name in names:
        if name in top_names() or (is_search and name == "search"):
            continue
        suggestion = suggested_key(name, is_search)
        raise KeywordError(
            f"{name} is not a key of a scenario",
            key=name,
            allowed=None if suggestion else some_of(top_names()),
            suggestion=f"did you mean {suggestion}?" if suggestion else None,
            remedy=suggestion,
        )


def _check_times(whole: Mapping[str, Any]) -> None:
    """Raises unless times have one value, one per device, or one per stage."""
    devices = whole.get("devices", whole.get("num_stages"))
    for key in ("forward_times", "backward_times", "input_grad_times", "weight_grad_times"):
        times = whole.get(key)
        if isinstance(times, list) and isinstance(devices, int) and devices > 0:
            if len(times) != 1 and len(times) % devices != 0:
                allowed = f"1, {devices} (one per device), or one per stage"
                raise ScenarioError(
                    f"{key} has {len(times)} values for {devices} devices",
                    key=key,
                    allowed=allowed,
                )


def _warn_of_lost_keys(whole: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Warns about keys that are lost because their section is replaced."""
    for key, value in changes.items():
        before = whole.get(key)
        if not isinstance(before, Mapping) or not isinstance(value, Mapping) or key == "model":
            continue
        lost = [name for name in before if name not in value]
        if lost and not (key == "schedule" and "name" in value):
            first = next(iter(value), lost[0])
            warnings.warn(
                f"{key}={dict(value)!r} replaces the whole section and removes {', '.join(lost)}; "
                f"with_({{'{key}.{first}': ..}}) changes a single key",
                stacklevel=3,
            )


def _with_checked_keywords(init: Callable[..., None]) -> Callable[..., None]:
    """Wraps the constructor to reject unknown keywords with a suggestion."""

    @functools.wraps(init)
    def checked(self: Any, *base: Any, **keys: Any) -> None:
        check_keywords(keys)
        init(self, *base, **keys)

    return checked


setattr(Scenario, "__init__", _with_checked_keywords(KeysOfScenario.__init__))
