"""Conversion of passes in any notation to cells of PyTorch's schedule files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import ScheduleError

#: Lists of passes, one per device, or a function that returns the pass of a device at a step.
Passes = Sequence[Sequence[Any]] | Mapping[int, Sequence[Any]] | Callable[[int, int], Any]

_KINDS = {
    "forward": "F",
    "backward": "B",
    "full_backward": "B",
    "input_grad": "I",
    "backward_input": "I",
    "weight_grad": "W",
    "backward_weight": "W",
}
#: Matches "B12", a pass of the device's first chunk, and "B12.1", one of its second chunk.
_LOCAL = re.compile(r"(?P<kind>F|I|B|W)(?P<microbatch>\d+)(?:\.(?P<chunk>\d+))?")
#: Matches cells that look like a pass but may have an unknown kind.
_UNKNOWN_KIND = re.compile(r"[A-Za-z]+\d+(\.\d+)?")
_MAX_STEPS = 10_000_000
_ALLOWED = '"3B12" (stage, kind, microbatch), "B12", ("B", 12), ("B", 12, chunk) and None'


def rows_of(passes: Passes, devices: int | None, placement: str) -> list[list[str]]:
    """Returns the cells of each device."""
    if placement not in ("loop", "v"):
        raise ScheduleError(
            f"placement is {placement!r}", allowed="'loop', 'v'"
        )
    device_rows: list[Sequence[Any]] = (
        _steps(passes, devices) if callable(passes) else _listed(passes)
    )
    if devices is not None and len(device_rows) != devices:
        raise ScheduleError(f"passes are for {len(device_rows)} devices, but devices is {devices}")
    rows = []
    for device, row in enumerate(device_rows):
        writer = _CellWriter(device, len(device_rows), placement)
        cells: list[str] = []
        for step, entry in enumerate(row):
            try:
                cells.append(writer.cell(entry))
            except (TypeError, ValueError, IndexError):
                error = ScheduleError(
                    f"device {device}, step {step}: {entry!r} is not a pass; allowed: {_ALLOWED}",
                    remedy=_ALLOWED,
                )
                error.device, error.step = device, step
                raise error from None
        rows.append(cells)
    return rows


def _listed(passes: Any) -> list[Sequence[Any]]:
    if isinstance(passes, Mapping):
        return [passes[device] for device in sorted(passes)]
    return [row.split() if isinstance(row, str) else row for row in passes]


def _steps(function: Callable[[int, int], Any], devices: int | None) -> list[Sequence[Any]]:
    if devices is None:
        raise ScheduleError(
            "passes is a function of device and step; give the number of devices", remedy="devices=4"
        )
    rows: list[Sequence[Any]] = []
    for device in range(devices):
        row: list[Any] = []
        while (entry := function(device, len(row))) is not None:
            row.append(entry)
            if len(row) > _MAX_STEPS:
                raise ScheduleError(f"device {device}: the function never returns None")
        rows.append(row)
    return rows


class _CellWriter:
    """Writes the cells of one device."""

    def __init__(self, device: int, devices: int, placement: str) -> None:
        self._device, self._devices, self._is_v = device, devices, placement == "v"

    def cell(self, entry: Any) -> str:
        if entry is None:
            return ""
        if isinstance(entry, str):
            return self._of_text(entry.strip())
        if hasattr(entry, "computation_type"):
            return self._of_action(entry)
        if len(entry) == 2 and not (isinstance(entry[0], str) and _is_number(entry[1])):
            return self._overlapped([self.cell(part) for part in entry])
        kind, microbatch, *chunk = entry
        return self._local(_letter(kind), int(microbatch), int(chunk[0]) if chunk else 0)

    def _of_text(self, text: str) -> str:
        match = _LOCAL.fullmatch(text)
        if match is None:
            if _UNKNOWN_KIND.fullmatch(text):
                raise ValueError(text)
            return "" if text in (".", "-") else text
        return self._local(match["kind"], int(match["microbatch"]), int(match["chunk"] or 0))

    def _of_action(self, action: Any) -> str:
        """The cell of an action of torch.distributed.pipelining.schedules."""
        parts = getattr(action, "sub_actions", None)
        if parts:
            return self._overlapped([self._of_action(part) for part in parts])
        microbatch = action.microbatch_index
        kind = str(action.computation_type)
        return f"{action.stage_index}{kind}{'' if microbatch is None else microbatch}"

    def _overlapped(self, cells: list[str]) -> str:
        return f"({';'.join(cells)})OVERLAP_F_B"

    def _local(self, kind: str, microbatch: int, chunk: int) -> str:
        is_back = self._is_v and chunk % 2 == 1
        place = self._devices - 1 - self._device if is_back else self._device
        return f"{chunk * self._devices + place}{kind}{microbatch}"


def _letter(kind: Any) -> str:
    letter = _KINDS.get(str(kind).lower(), str(kind))
    if letter not in ("F", "I", "B", "W"):
        raise ValueError(kind)
    return letter


def _is_number(value: Any) -> bool:
    return hasattr(value, "__index__")
