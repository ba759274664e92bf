"""Rows of a run as numpy arrays in memory shared with the process of the simulation."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core


class Tables:
    """Tables of a run by name; arrays are read-only and share memory."""

    def __init__(self, packing: dict[str, Any], file: int) -> None:
        """Maps a file in memory, and closes it."""
        self.packing = packing
        try:
            self._block: Any = _core.Block(file)
        finally:
            os.close(file)
        self._arrays: dict[str, NDArray[Any]] = {}

    @contextlib.contextmanager
    def file(self) -> Iterator[int]:
        """A file in memory with the tables, for another process."""
        file = _file_of(memoryview(self._block))
        try:
            yield file
        finally:
            os.close(file)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_from_bytes, (self.packing, bytes(self._block)))

    def names(self) -> list[str]:
        """Names of the tables."""
        return list(self.packing["tables"])

    def array(self, name: str) -> NDArray[Any]:
        """The rows of a table, with the columns of the trace file."""
        if name not in self._arrays:
            self._arrays[name] = self._map(self.packing["tables"][name])
        return self._arrays[name]

    def _map(self, table: dict[str, Any]) -> NDArray[Any]:
        columns = table["columns"]
        layout = np.dtype(
            {
                "names": [column["name"] for column in columns],
                "formats": [column["type"] for column in columns],
                "offsets": [column["at"] for column in columns],
                "itemsize": table["row_bytes"],
            }
        )
        if table["rows"] == 0:
            return np.empty(0, layout)
        rows: NDArray[Any] = np.frombuffer(self._block, layout, table["rows"], table["at"])
        return rows

    def kinds(self, name: str) -> dict[str, list[str]]:
        """Names of the codes in columns of kinds, by column."""
        columns = self.packing["tables"][name]["columns"]
        return {column["name"]: column["names"] for column in columns if "names" in column}

    def columns(self, name: str) -> dict[str, NDArray[Any] | tuple[NDArray[Any], list[str]]]:
        """Columns by name: numbers, texts, or codes with their names."""
        rows, kinds = self.array(name), self.kinds(name)
        columns_by_name: dict[str, NDArray[Any] | tuple[NDArray[Any], list[str]]] = {}
        for column in rows.dtype.names or ():
            values = rows[column]
            if column in kinds:
                columns_by_name[column] = (values, kinds[column])
            elif values.dtype.kind == "S":
                columns_by_name[column] = np.char.decode(values, "utf-8")
            else:
                columns_by_name[column] = values
        return columns_by_name


def _file_of(block: bytes | memoryview) -> int:
    file = os.memfd_create("pipewright")
    with os.fdopen(os.dup(file), "wb") as stream:
        stream.write(block)
    return file


def _from_bytes(packing: dict[str, Any], block: bytes) -> Tables:
    return Tables(packing, _file_of(block))
