"""What the program says, in Python's words: keywords for options, keys that errors are about."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Iterator

from . import _core

#: Options that have another name as a keyword.
_RENAMED = {"num_stages": "devices", "num_batches": "microbatches"}
#: What only helps at a command line, and what is said instead.
_HINTS = (
    (re.compile(r" \((?:-\w/)?--[\w-]+, or the key \w+\)"), ""),
    (re.compile(r" \(or \w+ and \w+ in a scenario\)"), ""),
    (re.compile(r" \(-\w\)"), ""),
    (re.compile(r"; see --help\b"), ""),
    (re.compile(r"^the command line: "), ""),
    (re.compile(r"'platform make --help'"), "platform.nodes()"),
    (re.compile(r"'pipewright platform show' with --route"), "platform.show(.., route=..)"),
)
#: Where the nearest name of a library is told, all the others help nobody.
_NOT_AMONG = re.compile(
    r"(?P<what>is not among the (?P<of>\w+) of the library; did you mean '[^']+'\?) allowed: .*?"
    r"(?=, or the path of a file)"
)
_LISTED_BY = {
    "clusters": "platform.names()",
    "nodes": "platform.nodes()",
    "models": "models()",
    "gpus": "gpus()",
    "GPUs": "gpus()",
}
_OPTION = re.compile(r"(?<![\w-])(?:-\w/)?--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)")
#: The keys of a sweep's own section.
_OF_SEARCH = ("constraints", "gpus", "memory", "objective")
_MOST_NAMES = 12


def in_python(text: str) -> str:
    """An error or a note without words that only a command line has."""
    for pattern, instead in _HINTS:
        text = pattern.sub(instead, text)
    text = _NOT_AMONG.sub(
        lambda match: f"{match['what']} {_LISTED_BY.get(match['of'], 'help')} lists them", text
    )
    return _OPTION.sub(lambda match: keyword_of(match[1]), text)


def keyword_of(option: str) -> str:
    name = option.lstrip("-").replace("-", "_")
    return _RENAMED.get(name, name)


def key_of(text: str) -> str | None:
    """The key that an error begins with: "parallel.tp is 3, which does not divide ..."."""
    word = re.match(r"[a-z_]+(\.[a-z_]+)*(?=[: ])", text)
    return word[0] if word and word[0] in key_names() else None


@functools.cache
def key_names() -> frozenset[str]:
    """All keys of scenarios, dotted, with other names of those at the top."""
    return frozenset(name for name, _ in _named_keys())


@functools.cache
def top_names() -> frozenset[str]:
    return frozenset(name for name in key_names() if "." not in name)


def _named_keys() -> Iterator[tuple[str, str]]:
    """Each name of each key, with the key."""
    for row in _core.keys():
        yield row["name"], row["name"]
        if row["alias"]:
            section = row["name"].rpartition(".")
            yield f"{section[0]}{section[1]}{row['alias']}", row["name"]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The one of these that was probably meant."""
    found = difflib.get_close_matches(name, list(names), 1, 0.6)
    return found[0] if found else None


def meant_key(name: str, is_search: bool = False) -> str | None:
    """What was probably meant by a word that is no key at the top, as it is to be written."""
    if is_search and (near := nearest(name, _OF_SEARCH)) and name not in _inner_keys():
        return f"search={{{near!r}: ..}}"
    inner = _inner_keys().get(name)
    if inner is None and (near := nearest(name, top_names())):
        return repr(near)
    if inner is None and (near := nearest(name, _inner_keys())):
        inner = _inner_keys()[near]
    return None if inner is None else repr(inner)


@functools.cache
def _inner_keys() -> dict[str, str]:
    """By the last part of their names: keys of sections, those of outer sections first."""
    found: dict[str, str] = {}
    for name, key in sorted(_named_keys(), key=lambda pair: pair[0].count(".")):
        if "." in name:
            found.setdefault(name.rpartition(".")[2], key)
    return found


def some_of(names: Iterable[str]) -> str:
    """Names as a list that is no longer than a reader takes."""
    listed = sorted(names)
    more = len(listed) - _MOST_NAMES
    return ", ".join(listed[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
