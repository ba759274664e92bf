"""Rows of a run as numpy arrays over the memory that the simulation's process wrote them to."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Tables:
    """The tables of a run by name; arrays are read only and share the memory of the run."""

    def __init__(self, packing: dict[str, Any], file: int) -> None:
        self.packing = packing
        #: The open file that holds them, for workers that read them again.
        self.file = file
        size = int(packing["bytes"])
        self._memory = mmap.mmap(file, size, access=mmap.ACCESS_READ) if size else b""
        self._arrays: dict[str, NDArray[Any]] = {}

    def __del__(self) -> None:
        os.close(self.file)

    def names(self) -> list[str]:
        return list(self.packing["tables"])

    def array(self, name: str) -> NDArray[Any]:
        """The rows of a table, the fields of that of a trace file."""
        if name not in self._arrays:
            table = self.packing["tables"][name]
            columns = table["columns"]
            layout = np.dtype(
                {
                    "names": [column["name"] for column in columns],
                    "formats": [column["type"] for column in columns],
                    "offsets": [column["at"] for column in columns],
                    "itemsize": table["row_bytes"],
                }
            )
            rows = table["rows"]
            self._arrays[name] = (
                np.frombuffer(self._memory, layout, rows, table["at"])
                if rows
                else np.empty(0, layout)
            )
        return self._arrays[name]

    def kinds(self, name: str) -> dict[str, list[str]]:
        """The names behind the codes of a table's columns of kinds."""
        columns = self.packing["tables"][name]["columns"]
        return {column["name"]: column["names"] for column in columns if "names" in column}
