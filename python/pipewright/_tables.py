"""Rows of a run as numpy arrays over one block of memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._words import nearest
from .errors import UnknownNameError


class Rows(np.ndarray[Any, np.dtype[np.void]]):
    """A structured array of numpy that raises an :class:`UnknownNameError` for an unknown column.

    A column is a plain array.
    """

    def __getitem__(self, key: Any) -> Any:
        names = [key] if isinstance(key, str) else key if isinstance(key, list) else []
        for name in names:
            if isinstance(name, str) and name not in (self.dtype.names or ()):
                raise unknown_column(name, self.dtype.names or ())
        return self.view(np.ndarray)[key] if isinstance(key, str) else super().__getitem__(key)


def unknown_column(name: str, columns: Sequence[str]) -> UnknownNameError:
    """The error for a column that a table does not have."""
    near = nearest(name, columns)
    return UnknownNameError(
        f"there is no column {name!r}",
        key=name,
        allowed=", ".join(columns),
        suggestion=near,
        suggests_name=near is not None,
    )


class Tables:
    """Tables of a run by name; arrays are read-only and share one block of memory."""

    def __init__(self, packing: dict[str, Any], block: bytes) -> None:
        self.packing = packing
        self._block = block
        self._arrays: dict[str, NDArray[np.void]] = {}

    @contextlib.contextmanager
    def file(self) -> Iterator[int]:
        """A file in memory with the tables, for another process."""
        file = os.memfd_create("pipewright")
        with os.fdopen(file, "wb") as stream:
            stream.write(self._block)
            stream.flush()
            yield file

    def __reduce__(self) -> tuple[Any, ...]:
        return (Tables, (self.packing, self._block))

    def names(self) -> list[str]:
        """Names of the tables."""
        return list(self.packing["tables"])

    def array(self, name: str) -> NDArray[np.void]:
        """The rows of a table, with the columns of the trace file."""
        if name not in self._arrays:
            self._arrays[name] = self._map(self.packing["tables"][name])
        return self._arrays[name]

    def _map(self, table: dict[str, Any]) -> NDArray[np.void]:
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
            return np.empty(0, layout).view(Rows)
        rows: NDArray[np.void] = np.frombuffer(self._block, layout, table["rows"], table["at"])
        return rows.view(Rows)

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


#: Units of columns that are neither seconds nor numbers of something.
_UNITS = {
    "bytes": "bytes",
    "memory_capacity": "bytes",
    "bandwidth": "bytes/s",
    "flows": "flow s",
    "waited": "flow s",
}


def unit_of(column: str, layout: np.dtype[Any]) -> str:
    """The unit of a column; times are the only other fractions."""
    return _UNITS.get(column) or ("s" if layout.kind == "f" else "")


def read_tables(packing: dict[str, Any], file: int) -> Tables:
    """Reads tables from a file in memory, and closes it."""
    with os.fdopen(file, "rb") as stream:
        stream.seek(0)
        return Tables(packing, stream.read())
