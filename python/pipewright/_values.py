"""Conversion of the texts of a scenario to Python values."""

from __future__ import annotations

import functools
import re
from typing import Any

from ._keys import ROWS, KeyRow

_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FLAGS = {"true": True, "false": False}
#: Types of scenario keys whose values are always strings; a choice of numbers, such as
#: ``parallel.zero``, has numbers.
_TEXTS = frozenset({"text", "choice", "path", "library", "schedule"})


def typed(value: Any, key: str = "") -> Any:
    """Converts the value of a dotted key: numbers and flags; values with a unit stay texts.

    >>> typed({"tp": "8", "sp": "true", "order": "tp-dp"})
    {'tp': 8, 'sp': True, 'order': 'tp-dp'}
    """
    if isinstance(value, dict):
        inside = f"{key}." if key else ""
        return {name: typed(inner, inside + name) for name, inner in value.items()}
    if isinstance(value, list):
        return [typed(item, key) for item in value]
    if not isinstance(value, str) or key in _text_keys():
        return value
    if _INTEGER.fullmatch(value):
        return int(value)
    if _NUMBER.fullmatch(value):
        return float(value)
    return _FLAGS.get(value, value)


@functools.cache
def _text_keys() -> frozenset[str]:
    return frozenset(row["name"] for row in ROWS if _has_texts(row))


def _has_texts(row: KeyRow) -> bool:
    if row["type"] not in _TEXTS or row["is_map"]:
        return False
    choices = row["choices"]
    return not choices or not all(_INTEGER.fullmatch(choice) for choice in choices)
