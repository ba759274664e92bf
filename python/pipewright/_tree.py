"""Scenarios as trees, which the program reads and checks.

A tree is a text, a list or a map with the place where it was written, as the program sends it:
``[place, text]``, ``[place, 1, trees]`` or ``[place, 2, [[key, place, tree], ..]]``. A place is null
where it equals that of the enclosing tree, as everywhere in trees of Python objects.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _worker
from .errors import ArgumentError, ScenarioError

Tree = list[Any]

#: Depth of lists and mappings within each other, as in YAML.
_MAX_DEPTH = 64
_ALLOWED = "texts, numbers, lists, mappings, paths"


def tree_of(value: object, place: str = "", depth: int = 1) -> Tree:
    """The tree of a Python object; ``place`` is its dotted key. A key with None is left out."""
    if isinstance(value, str):
        return [None, unicode_text(value, place)]
    if isinstance(value, bool):
        return [None, "true" if value else "false"]
    if isinstance(value, (int, float)):
        return [None, str(value)]
    if depth > _MAX_DEPTH:
        raise ScenarioError(
            f"{_named(_section(place))} is nested too deeply, or contains itself",
            key=_section(place) or None,
            allowed=f"{_MAX_DEPTH} levels",
        )
    if hasattr(value, "to_dict"):  # model configurations of transformers
        return tree_of(value.to_dict(), place, depth + 1)
    if isinstance(value, Mapping) or (hasattr(value, "items") and hasattr(value, "keys")):
        entries = [
            [unicode_text(str(key), place), None, tree_of(item, f"{place}.{key}" if place else str(key), depth + 1)]
            for key, item in value.items()
            if item is not None
        ]
        return [None, 2, entries]
    if isinstance(value, os.PathLike):
        return [None, unicode_text(os.fsdecode(value), place)]
    if hasattr(value, "tolist"):  # arrays and numbers of numpy
        return tree_of(value.tolist(), place, depth + 1)
    if hasattr(value, "__iter__") and not isinstance(value, (bytes, set, frozenset)):
        return [None, 1, [tree_of(item, f"{place}[{n}]", depth + 1) for n, item in enumerate(value)]]
    raise ArgumentError(
        f"{_named(place)} is of type {type(value).__name__}", key=place or None, allowed=_ALLOWED
    )


def unicode_text(text: str, place: str) -> str:
    """The text, unless it has no encoding in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ScenarioError(
            f"{_named(place)} contains {text[error.start]!a}, which is no character of Unicode",
            key=place or None,
            allowed="text that can be encoded in UTF-8",
        ) from None
    return text


def _named(place: str) -> str:
    return place or "the scenario"


def _section(place: str) -> str:
    """The top-level key of a place, since places within deep values are long."""
    return place.partition(".")[0].partition("[")[0]


def object_of(tree: Tree) -> Any:
    """Dicts, lists and texts of a tree."""
    if len(tree) == 2:
        return tree[1]
    if tree[1] == 1:
        return [object_of(item) for item in tree[2]]
    return {key: object_of(item) for key, _, item in tree[2]}


def changed(
    source: Mapping[str, Any], changes: Mapping[str, Any], check: bool = True
) -> dict[str, Any]:
    """The tree of a source after changes of dotted keys, as ``tree`` and ``yaml``.

    The source is ``{"tree": ..}``, ``{"file": ..}`` or ``{"text": .., "name": ..}``. With ``check``, a
    tree that is no scenario is an error, and ``checked`` has what the checks find out.
    """
    trees = [
        [key, None if value is None else tree_of(value, key, key.count(".") + 2)]
        for key, value in changes.items()
    ]
    try:
        return _worker.request("scenario", {**source, "changes": trees, "check": check})
    except ScenarioError as error:
        if (error.key or "").startswith("schedule[") and error.suggestion is None:
            error.suggestion = "schedule.from_passes(..) makes a schedule from lists of passes"
        _name_value(error, changes)
        raise


def _name_value(error: ScenarioError, changes: Mapping[str, Any]) -> None:
    """Names the Python value at fault, such as True, in place of the word that the program read."""
    value: Any = changes
    key = error.key or ""
    for part in [key] if key in changes else key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, (bool, float)):
        word = str(object_of(tree_of(value)))
        if error.found.endswith(f" is {word}"):
            error.found = error.found.removesuffix(word) + repr(value)
