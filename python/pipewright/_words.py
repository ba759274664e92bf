"""Names of options, keywords and scenario keys, and suggestions for misspelt names."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ._keys import ROWS

#: Options whose keyword argument has another name than the option.
_RENAMED = {"num_stages": "devices", "num_batches": "microbatches"}
#: Phrases in messages that make sense only on a command line, and their replacements.
_COMMAND_LINE_PHRASES = (
    (re.compile(r" \(or \w+ and \w+ in a scenario\)"), ""),
    (re.compile(r" \(-\w\)"), ""),
    (re.compile(r"; see --help\b"), ""),
    (re.compile(r"^the command line: "), ""),
    (re.compile(r"'platform make --help'"), "platform.nodes()"),
    (re.compile(r"'pipewright platform show' with --route"), "platform.show(.., route=..)"),
)
_OPTION = re.compile(r"(?<![\w-])(?:-\w/)?--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)")
#: Keys of the section ``search`` of a sweep.
_SEARCH_KEYS = ("constraints", "gpus", "memory", "objective", "rules")
_MAX_NAMES = 12


def in_python(text: str) -> str:
    """A text of the program with the names of keywords in place of command-line options."""
    for pattern, replacement in _COMMAND_LINE_PHRASES:
        text = pattern.sub(replacement, text)
    return _OPTION.sub(lambda match: keyword_of(match[1]), text)


def with_keywords(parts: dict[str, Any]) -> dict[str, Any]:
    """The parts of an error with the names of keywords in place of command-line options."""
    changed = dict(parts)
    if changed.get("suggestion") == "see --help":
        del changed["suggestion"]
    for part in ("found", "allowed", "suggestion"):
        if part in changed:
            changed[part] = in_python(changed[part])
    for part in ("key", "source"):
        if changed.get(part, "").startswith("-"):
            changed[part] = keyword_of(changed[part])
    if changed.get("source") == "the command line":
        del changed["source"]
    return changed


def keyword_of(option: str) -> str:
    name = option.lstrip("-").replace("-", "_")
    return _RENAMED.get(name, name)


@functools.cache
def key_names() -> frozenset[str]:
    """All scenario keys, dotted, with the aliases of top-level keys."""
    return frozenset(name for name, _ in _named_keys())


@functools.cache
def top_names() -> frozenset[str]:
    return frozenset(name for name in key_names() if "." not in name)


def _named_keys() -> Iterator[tuple[str, str]]:
    """Pairs of a name or alias and its key."""
    for row in ROWS:
        yield row["name"], row["name"]
        if row["alias"]:
            section = row["name"].rpartition(".")
            yield f"{section[0]}{section[1]}{row['alias']}", row["name"]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that is closest to a misspelt one, if any is close."""
    matches = difflib.get_close_matches(name, list(names), 1, 0.6)
    return matches[0] if matches else None


def suggested_key(name: str, is_search: bool = False) -> str | None:
    """The probable key for an unknown keyword, as it must be written."""
    if is_search and (near := nearest(name, _SEARCH_KEYS)) and name not in _inner_keys():
        return f"search={{{near!r}: ..}}"
    inner = _inner_keys().get(name)
    if inner is None and (near := nearest(name, top_names())):
        return repr(near)
    if inner is None and (near := nearest(name, _inner_keys())):
        inner = _inner_keys()[near]
    return None if inner is None else repr(inner)


@functools.cache
def _inner_keys() -> dict[str, str]:
    """Keys of sections by the last part of their names; outer sections take precedence."""
    keys: dict[str, str] = {}
    for name, key in sorted(_named_keys(), key=lambda pair: pair[0].count(".")):
        if "." in name:
            keys.setdefault(name.rpartition(".")[2], key)
    return keys


def some_of(names: Iterable[str]) -> str:
    """Names as a text, cut after the first twelve."""
    listed = sorted(names)
    more = len(listed) - _MAX_NAMES
    return ", ".join(listed[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
