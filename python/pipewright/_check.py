"""Whether an order of passes is sound, and what its receives cost."""

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
    """What a schedule's order comes to beside its times.

    ``sound`` says whether every stage runs every microbatch once and no device waits for ever, and
    ``why`` what is wrong otherwise, at ``device`` and ``step``. ``orders`` has what the order of
    receives costs in PyTorch, ``waits`` each pass that stands behind another's tensor.
    """

    @property
    def sound(self) -> bool:
        return bool(self.summary["sound"])

    @property
    def why(self) -> str | None:
        """What is wrong; None of a sound one."""
        return self.summary.get("why")

    @property
    def device(self) -> int | None:
        """The device at fault, from 0; of a deadlock the first of those that wait."""
        return self._place("rank")

    @property
    def step(self) -> int | None:
        """The place in its list, from 0."""
        step = self._place("cell")
        step = self._place("action") if step is None else step
        return None if step is None else step - 1

    def _place(self, name: str) -> int | None:
        blocked = self.summary.get("blocked", [{}])[0]
        place: int | None = self.summary.get(name, blocked.get(name))
        return place

    @property
    def blocked(self) -> Table:
        """Of a deadlock: each device with the action that it waits at for ever."""
        return Table.of(self.summary.get("blocked", []))

    @property
    def orders(self) -> Table:
        """Ways to order receives, with what each loses against passes that wait for their own."""
        rows = [
            {name: value for name, value in order.items() if name not in ("waits", "swap")}
            | {"waits": len(order["waits"]), "swaps_tensors": order["swap"] is not None}
            for order in self.summary.get("orders", [])
        ]
        return Table.of(rows)

    @property
    def waits(self) -> Table:
        """Passes that wait though their tensor could be there, by the order of receives."""
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


def checked(text: str, name: str, **given: Any) -> Check:
    """What ``pipewright schedule check`` says of a file of PyTorch with this text."""
    with TemporaryDirectory(prefix="pipewright-") as folder:
        file = os.path.join(folder, name + ".csv")
        save_text(file, text)
        said = command("schedule", "check", file, "--json", *options(**given)).json()
    said["file"] = name
    if "why" in said:
        said["why"] = said["why"].replace(file, name)
    return Check(said)


#: Where a file of PyTorch is at fault, before what is.
_PLACE = re.compile(r"^[^\n]*?:\d+:\d+: row \d+ \(rank (\d+)\), cell (\d+): ")


def sound(text: str, name: str, is_file: bool = True, **given: Any) -> Check:
    """What a check says of an order that is sound; raises what is wrong with another.

    Where the order is no file, places are devices and steps, as in lists.
    """
    check = checked(text, name, **given)
    if check.sound:
        return check
    kind = Deadlock if "blocked" in check.summary else ScheduleError
    why = str(check.why)
    if not is_file:
        why = _PLACE.sub(lambda at: f"device {at[1]}, step {int(at[2]) - 1}: ", why)
    error = kind(why)
    error.device, error.step = check.device, check.step
    raise error
