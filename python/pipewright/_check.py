"""Checks of schedules: soundness, and the cost of the order of receives."""

from __future__ import annotations

import os
import re
from tempfile import TemporaryDirectory
from typing import Any

from ._commands import command, options
from ._report import Report, save_text
from ._table import Table
from .errors import Deadlock, ScheduleError


class Check(Report):
    """Result of a check.

    ``sound`` is true if every stage runs every microbatch once and no device waits forever;
    otherwise ``why`` is the fault, at ``device`` and ``step``. ``orders`` has the cost of each order
    of receives in PyTorch, ``waits`` the passes that wait behind another tensor.
    """

    @property
    def sound(self) -> bool:
        return bool(self.summary["sound"])

    @property
    def why(self) -> str | None:
        """The fault, or None if the schedule is sound."""
        return self.summary.get("why")

    @property
    def device(self) -> int | None:
        """The device at fault, from 0; for a deadlock, the first device that waits."""
        return self._place("rank")

    @property
    def step(self) -> int | None:
        """The index of the pass at fault in the list of the device, from 0."""
        step = self._place("cell")
        step = self._place("action") if step is None else step
        return None if step is None else step - 1

    def _place(self, name: str) -> int | None:
        blocked = self.summary.get("blocked", [{}])[0]
        place: int | None = self.summary.get(name, blocked.get(name))
        return place

    @property
    def blocked(self) -> Table:
        """For a deadlock, the devices and the actions at which they wait forever."""
        return Table.of(self.summary.get("blocked", []))

    @property
    def orders(self) -> Table:
        """Orders of receives, with the loss of each against passes that wait only for their input."""
        rows = [
            {name: value for name, value in order.items() if name not in ("waits", "swap")}
            | {"waits": len(order["waits"]), "swaps_tensors": order["swap"] is not None}
            for order in self.summary.get("orders", [])
        ]
        return Table.of(rows)

    @property
    def waits(self) -> Table:
        """Passes that wait although their tensor could have arrived, by order of receives."""
        rows = [
            {"receives": order["receives"], **wait}
            for order in self.summary.get("orders", [])
            for wait in order["waits"]
        ]
        return Table.of(rows)

    def __bool__(self) -> bool:
        return self.sound

    def __str__(self) -> str:
        return f"{self.why}\n" if self.why else f"sound\n\n{self.orders}\n"


def checked(text: str, name: str, **arguments: Any) -> Check:
    """Runs ``pipewright schedule check`` on a PyTorch file with this text."""
    with TemporaryDirectory(prefix="pipewright-") as folder:
        file = os.path.join(folder, name + ".csv")
        save_text(file, text)
        report = command("schedule", "check", file, "--json", *options(**arguments)).json()
    report["file"] = name
    if "why" in report:
        report["why"] = report["why"].replace(file, name)
    return Check(report)


#: Matches the position in a PyTorch file with which a message begins.
_PLACE = re.compile(r"^[^\n]*?:\d+:\d+: row \d+ \(rank (\d+)\), cell (\d+): ")


def sound(text: str, name: str, is_file: bool = True, **arguments: Any) -> Check:
    """Returns the check of a sound schedule; raises the fault of any other.

    Unless the schedule is a file, errors name devices and steps.
    """
    check = checked(text, name, **arguments)
    if check.sound:
        return check
    kind = Deadlock if "blocked" in check.summary else ScheduleError
    why = str(check.why)
    if not is_file:
        why = _PLACE.sub(lambda at: f"device {at[1]}, step {int(at[2]) - 1}: ", why)
    error = kind(why)
    error.device, error.step = check.device, check.step
    raise error
