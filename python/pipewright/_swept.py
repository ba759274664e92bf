"""Keys in which scenarios differ, as columns of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ._files import without_folders
from ._scenario import Scenario


def swept_values(scenarios: Sequence[Any]) -> list[dict[str, Any]]:
    """For each scenario, its values of the keys that are not equal in all scenarios.

    A key has the last part of its dotted name where no other of these keys ends so; a scenario
    without the key has None.

    >>> swept_values([scenario, scenario.with_(microbatches=16)])
    [{'microbatches': 8}, {'microbatches': 16}]
    """
    values = [dict(_flat(_plain(scenario), "")) for scenario in scenarios]
    keys = dict.fromkeys(key for row in values for key in row)
    differing = [key for key in keys if any(row.get(key) != values[0].get(key) for row in values)]
    ends = Counter(map(_end, differing))
    names = {key: _end(key) if ends[_end(key)] == 1 else key for key in differing}
    return [{name: row.get(key) for key, name in names.items()} for row in values]


def _end(key: str) -> str:
    return key.rpartition(".")[2]


def _plain(scenario: Any) -> Any:
    return scenario.to_dict() if isinstance(scenario, Scenario) else scenario


def _flat(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Pairs of a dotted key and its value; lists are texts, and a schedule's name is the schedule."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, (list, tuple)):
        yield key, ", ".join(map(str, value))
    elif isinstance(value, str):
        yield ("schedule" if key == "schedule.name" else key), without_folders(value)
    elif isinstance(value, (bool, int, float)):
        yield key, value
    else:
        yield key, str(value)
