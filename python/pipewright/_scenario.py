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
if _LIBRARY.is_dir():  # installed; else the source tree's
    _core.set_own_library(str(_LIBRARY))


@contextlib.contextmanager
def scenario_errors() -> Iterator[None]:
    """Raises faults that the extension finds as :class:`ScenarioError`."""
    try:
        yield
    except _core.ConfigError as error:
        parts = with_keywords(json.loads(error.args[0]))
        if parts.get("key", "").startswith("schedule[") and "suggestion" not in parts:
            parts["suggestion"] = "schedule.from_passes(..) makes a schedule of lists of passes"
        raise ScenarioError(**parts) from None


class Scenario(KeysOfScenario):
    """What is simulated: every key of the scenario reference is one here, by its own name.

    >>> one = Scenario(devices=4, microbatches=8, forward_times="18 ms", backward_times="36 ms")
    >>> one["microbatches"]
    8
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
            tree = base._tree if isinstance(base, Scenario) else tree_of(base)
            for key, value in keys.items():
                tree = tree.with_key(key, value)
        self._take(tree)
        self._check_schedules(keys.get("schedule"))

    def _check_schedules(self, given: Any) -> None:
        """Whether schedules that are passes have as many devices and microbatches as are said."""
        for one in given if isinstance(given, list) else [given]:
            if hasattr(one, "_agree"):
                whole = self.to_dict()
                devices = whole.get("devices", whole.get("num_stages"))
                devices = devices or (whole.get("parallel") or {}).get("pp")
                one._agree(devices, whole.get("microbatches", whole.get("num_batches")))

    def _take(self, tree: _core.Tree) -> None:
        self._tree = tree
        with scenario_errors():
            self._checked = tree.checked()
        _check_times(self.to_dict())

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

        None takes a key away. A mapping is the whole section, of which a warning tells what goes
        with it; a dotted key changes one of it.

        >>> scenario.with_({"schedule.name": "gpipe"}, microbatches=64)["schedule.name"]
        'gpipe'
        >>> job = Scenario(cluster="dgx-h100", model="llama-3-8b", parallel={"tp": 8, "pp": 4},
        ...                microbatches=8)
        >>> faster = job.with_({"variation.bandwidth": {"nic": 2}})  # NICs of twice the rate
        """
        if not isinstance(changes or {}, Mapping):
            raise ArgumentError(
                f"with_ takes a mapping of keys, and keywords, and this is {kind_of(changes)}",
                suggestion="with_({'parallel.tp': 2}, microbatches=16) has both",
                remedy="with_({'parallel.tp': 2}, microbatches=16)",
            )
        tree = self._tree
        check_keywords(key for key in {**(changes or {}), **keys} if "." not in key)
        _tell_lost_keys(self.to_dict(), {**(changes or {}), **keys})
        with scenario_errors():
            for key, value in {**(changes or {}), **keys}.items():
                tree = tree.with_key(key, value)
        made = self._of(tree)
        made._check_schedules(keys.get("schedule", (changes or {}).get("schedule")))
        return made

    def to_dict(self) -> dict[str, Any]:
        """As nested dicts and lists, numbers as numbers; what has a unit is a text."""
        whole: dict[str, Any] = typed(self._tree.object())
        return whole

    def to_yaml(self, whole: bool = False) -> str:
        """As it was asked; ``whole``: with model and GPU spelled out, and with whole paths.

        Clusters and schedules of your own that were not saved are named by their place in the
        user's cache; :meth:`save` writes them beside the file.
        """
        return self._checked["yaml"] if whole else self._tree.yaml()

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes it as YAML, and beside it clusters and schedules of your own that it names.

        >>> scenario.save("mine.yaml")  # pipewright run mine.yaml
        """
        save_text(file, bring_along(file, self.to_yaml()))

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
        tree = self._json()
        return (_unpickled, (tree, stored_files(tree)))


def _unpickled(tree: str, files: Mapping[str, str]) -> Scenario:
    for path, text in files.items():
        here = store(text, os.path.basename(path))
        tree = tree.replace(json.dumps(path)[1:-1], json.dumps(here)[1:-1])
    return Scenario._of(_core.Tree.from_json(tree))


def tree_of(base: Any) -> _core.Tree:
    """What a mapping says."""
    if base is not None and not isinstance(base, Mapping):
        raise ArgumentError(
            f"a scenario is {kind_of(base)}",
            allowed="keywords, a mapping, or Scenario.from_yaml(..) of a file or a text",
            remedy="Scenario.from_yaml(..)",
        )
    return _core.Tree.from_object(base or {})


def check_keywords(names: Iterable[str], is_search: bool = False) -> None:
    """Raises of a keyword that is no key, with the key that was probably meant."""
    for name in names:
        if name in top_names() or (is_search and name == "search"):
            continue
        suggestion = suggested_key(name, is_search)
        raise KeywordError(
            f"{name} is no key of a scenario",
            key=name,
            allowed=None if suggestion else some_of(top_names()),
            suggestion=f"did you mean {suggestion}?" if suggestion else None,
            remedy=suggestion,
        )


def _check_times(whole: Mapping[str, Any]) -> None:
    """Times are one for all devices, for each device, or for each stage."""
    devices = whole.get("devices", whole.get("num_stages"))
    for key in ("forward_times", "backward_times", "input_grad_times", "weight_grad_times"):
        times = whole.get(key)
        if isinstance(times, list) and isinstance(devices, int) and devices > 0:
            if len(times) != 1 and len(times) % devices != 0:
                allowed = f"1, {devices} (one for each device), or one for each stage"
                raise ScenarioError(
                    f"{key} has {len(times)} values for {devices} devices",
                    key=key,
                    allowed=allowed,
                )


def _tell_lost_keys(whole: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Warns of keys that go with their section, as another stands in its place."""
    for key, value in changes.items():
        before = whole.get(key)
        if not isinstance(before, Mapping) or not isinstance(value, Mapping) or key == "model":
            continue
        lost = [name for name in before if name not in value]
        if lost and not (key == "schedule" and "name" in value):
            first = next(iter(value), lost[0])
            warnings.warn(
                f"{key}={dict(value)!r} is the whole section now, without {', '.join(lost)}; "
                f"with_({{'{key}.{first}': ..}}) changes one key",
                stacklevel=3,
            )


def _telling(init: Callable[..., None]) -> Callable[..., None]:
    """The same, which tells of an unknown keyword what was probably meant."""

    @functools.wraps(init)
    def checked(self: Any, *base: Any, **keys: Any) -> None:
        check_keywords(keys)
        init(self, *base, **keys)

    return checked


setattr(Scenario, "__init__", _telling(KeysOfScenario.__init__))
