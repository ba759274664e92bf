"""Scenarios: one question, this pipeline on that cluster."""

from __future__ import annotations

import functools
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from ._files import bring_along, store, stored_files
from ._keys import KeysOfScenario
from ._report import save_text
from ._tree import Tree, changed, object_of, tree_of
from ._values import typed
from ._words import nearest, suggested_key, some_of, top_names
from .errors import (
    ArgumentError,
    KeywordError,
    ScenarioError,
    UnknownNameError,
    kind_of,
    naming_missing_files,
)

_Kind = TypeVar("_Kind", bound="Scenario")

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

    __slots__ = ("_tree", "_yaml", "_checked")
    _tree: Tree
    _yaml: str
    _checked: dict[str, Any]

    def _begin(self, base: Any, keys: dict[str, Any]) -> None:
        tree = base._tree if isinstance(base, Scenario) else _mapping_tree(base)
        self._take(changed({"tree": tree}, keys))
        self._check_schedules(keys.get("schedule"))

    def _check_schedules(self, value: Any) -> None:
        """Raises unless schedules scenario of passes have the scenario's devices and microbatches."""
        for schedule in value if isinstance(value, list) else [value]:
            if hasattr(schedule, "_check_sizes"):
                whole = self.to_dict()
                devices = whole.get("devices", whole.get("num_stages"))
                devices = devices or (whole.get("parallel") or {}).get("pp")
                schedule._check_sizes(devices, whole.get("microbatches", whole.get("num_batches")))

    def _take(self, answer: dict[str, Any]) -> None:
        self._tree, self._yaml, self._checked = answer["tree"], answer["yaml"], answer["checked"]
        _check_times(self.to_dict())

    @classmethod
    def _of(cls: type[_Kind], answer: dict[str, Any]) -> _Kind:
        scenario = cls.__new__(cls)
        scenario._take(answer)
        return scenario

    @classmethod
    def from_yaml(cls: type[_Kind], source: str | os.PathLike[str]) -> _Kind:
        r"""Reads a file of YAML or JSON, or a text with more than one line.

        >>> scenario = Scenario.from_yaml("devices: 2\nmicrobatches: 4\nforward_times: 1\nbackward_times: 2")
        """
        if isinstance(source, str) and "\n" in source:
            return cls._of(changed({"text": source, "name": "the scenario"}, {}))
        with naming_missing_files(source):
            return cls._of(changed({"file": os.fspath(source)}, {}))

    def with_(self: _Kind, changes: Mapping[str, Any] | None = None, /, **keys: Any) -> _Kind:
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
        values = {**(changes or {}), **keys}
        check_keywords(key for key in values if "." not in key)
        _warn_of_lost_keys(self.to_dict(), values)
        scenario = self._of(changed({"tree": self._tree}, values))
        for name in self._facts():
            setattr(scenario, name, getattr(self, name))
        scenario._check_schedules(values.get("schedule"))
        return scenario

    def _facts(self) -> tuple[str, ...]:
        """Attributes that a changed scenario keeps: where an imported job or profile comes from."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The scenario as nested dicts and lists; values with a unit are texts."""
        whole: dict[str, Any] = typed(object_of(self._tree))
        return whole

    def to_yaml(self, whole: bool = False) -> str:
        """The scenario as YAML; ``whole`` includes the model, the GPU and absolute paths.

        Unsaved clusters and schedules of your own are named by their paths in the user's cache;
        :meth:`save` copies them to the folder of the file.
        """
        text: str = self._checked["yaml"] if whole else self._yaml
        return text

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
        """The value of a dotted key: ``scenario["parallel.tp"]``; KeyError if there is none."""
        value: Any = self.to_dict()
        for part in key.split("."):
            try:
                value = value[int(part) if isinstance(value, list) else part]
            except (LookupError, TypeError, ValueError):
                raise self._unknown_key(key) from None
        return value

    def _unknown_key(self, key: str) -> UnknownNameError:
        outer, dot, _ = key.rpartition(".")
        section = self.get(outer, {}) if dot else {}
        inner = [f"{outer}.{name}" for name in section] if isinstance(section, dict) else []
        near = nearest(key, [*self, *inner])
        return UnknownNameError(
            f"the scenario has no {key!r}",
            key=key,
            allowed=None if near else ", ".join(self),
            suggestion=near,
            suggests_name=near is not None,
        )

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a dotted key, or ``default`` if the scenario has none."""
        return self[key] if key in self else default

    def __contains__(self, key: object) -> bool:
        try:
            self[str(key)]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        """The top-level keys, in the order written."""
        return iter(self.to_dict())

    def keys(self) -> list[str]:
        """The top-level keys, in the order written, so that ``dict(scenario)`` has their values."""
        return list(self)

    def __eq__(self, rhs: object) -> bool:
        if not isinstance(rhs, Scenario):
            return NotImplemented
        return bool(self._checked["yaml"] == rhs._checked["yaml"])

    def __hash__(self) -> int:
        return hash(self._checked["yaml"])

    def __repr__(self) -> str:
        return self.to_yaml()

    def _json(self) -> str:
        """The tree for a worker, with the locations of values."""
        return json.dumps(self._tree)

    def __reduce__(self) -> tuple[Any, ...]:
        tree = self._json()
        facts = {name: getattr(self, name) for name in self._facts()}
        return (_unpickled, (type(self), tree, stored_files(tree), facts))


def _unpickled(
    kind: type[_Kind], tree: str, files: Mapping[str, str], facts: Mapping[str, Any]
) -> _Kind:
    for path, text in files.items():
        here = store(text, os.path.basename(path))
        tree = tree.replace(json.dumps(path)[1:-1], json.dumps(here)[1:-1])
    scenario = kind._of(changed({"tree": json.loads(tree)}, {}))
    for name, fact in facts.items():
        setattr(scenario, name, fact)
    return scenario


def _mapping_tree(base: Any) -> Tree:
    if base is not None and not isinstance(base, Mapping):
        raise ArgumentError(
            f"a scenario is {kind_of(base)}",
            allowed="keywords, a mapping, or Scenario.from_yaml(..) of a file or a text",
            remedy="Scenario.from_yaml(..)",
        )
    return tree_of(base or {})


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
