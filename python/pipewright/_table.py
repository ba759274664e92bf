"""Rows of figures as a table: numpy's, and with pandas or polars theirs."""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from ._display import _STYLE
from ._tables import Rows, unknown_column
from .errors import MissingPackageError

if TYPE_CHECKING:
    import pandas
    import polars

#: Largest number of rows that a notebook shows.
_MOST_SHOWN = 40


def optional(package: str, instead: str) -> Any:
    """A package that is used if it is installed; ``instead`` says what to use without it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError:
        error = MissingPackageError(
            f"{package} is not installed",
            suggestion=f"'pip install {package}', or use {instead}",
            remedy=f"pip install {package}",
        )
        error.name = package
        raise error from None


class Table:
    """Rows with named columns; ``array`` has them as one structured array of numpy.

    >>> table = schedule.catalogue(devices=4, microbatches=8)
    >>> str(table["schedule"][table["bubble_ratio"].argmin()])
    'interleaved-zb'
    >>> table[table["in_flight"] <= 4].to_pandas()

    A column by its name is an array, a row by its number a dict; a mask, a list of numbers or a
    slice gives a table of these rows. What is not known is NaN among numbers, and an empty text.
    A table of many columns prints its main ones; ``columns`` has the names of them all.
    """

    def __init__(self, array: NDArray[Any], shown: Sequence[str] | None = None) -> None:
        #: All rows, as a NumPy array with a field for each column.
        self.array: NDArray[Any] = array.view(Rows)
        #: Names of the columns that ``print`` and notebooks show; None shows all.
        self.shown = None if shown is None else [name for name in shown if name in self.columns]

    @classmethod
    def of(
        cls, rows: Sequence[Mapping[str, Any]], shown: Sequence[str] | None = None
    ) -> Table:
        """A table of rows that may lack columns; lists and maps within them become objects."""
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = [_column([row.get(name) for row in rows]) for name in names]
        array = np.empty(len(rows), [(name, column.dtype) for name, column in zip(names, columns)])
        for name, column in zip(names, columns):
            array[name] = column
        return cls(array, shown)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.array.dtype.names or ())

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[number] for number in range(len(self)))

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int] | NDArray[np.bool_] | NDArray[np.int_]) -> Table: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.array[key]
        if isinstance(key, (int, np.integer)):
            row = self.array[int(key)]
            return {name: _plain(row[name]) for name in self.columns}
        return Table(self.array[key], self.shown)

    def sort(self, column: str, descending: bool = False) -> Table:
        """The rows in the order of a column; equal ones stay as they are."""
        order = self[column].argsort(kind="stable")
        return Table(self.array[order[::-1] if descending else order], self.shown)

    def to_pandas(self) -> pandas.DataFrame:
        """As a data frame of pandas."""
        pd = optional("pandas", "the array of numpy in .array")
        return pd.DataFrame({name: self.array[name] for name in self.columns})

    def to_polars(self) -> polars.DataFrame:
        """As a data frame of polars."""
        pl = optional("polars", "the array of numpy in .array")
        return pl.DataFrame({name: self.array[name].tolist() for name in self.columns})

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"

    def __str__(self) -> str:
        names = self.columns if self.shown is None else self.shown
        cells = [names, *([_cell(row[name]) for name in names] for row in self)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths)) for row in cells]
        if hidden := len(self.columns) - len(names):
            lines.append(f"and {hidden} columns more, named by .columns")
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return f'{_STYLE}<div class="pipewright">{self._html()}</div>'

    def _html(self) -> str:
        # Columns without any known value, and columns of lists, are left out.
        shown = [name for name in self.shown or self.columns if _tells(self.array[name])]
        names = [name for name in shown if self.array[name].dtype.kind == "U"]

        def row_html(tag: str, cells: Mapping[str, str]) -> str:
            parts = (
                f"<{tag}{' class=name' if name in names else ''}>{html.escape(text)}</{tag}>"
                for name, text in cells.items()
            )
            return f"<tr>{''.join(parts)}</tr>"

        units = {name: _unit_of(name) for name in shown}
        heads = {name: f"{unit.words(name)} {unit.name}".strip() for name, unit in units.items()}
        rows = [row_html("th", heads)]
        for row in self[:_MOST_SHOWN]:
            rows.append(row_html("td", {name: units[name].cell(row[name]) for name in shown}))
        more = len(self) - _MOST_SHOWN
        rest = f'<p class="quiet">and {more} rows more</p>' if more > 0 else ""
        return f"<table>{''.join(rows)}</table>{rest}"


@dataclass(frozen=True)
class _Unit:
    """How a notebook shows a column whose name ends so."""

    ending: str = ""
    name: str = ""
    size: float = 1.0

    def words(self, column: str) -> str:
        return column.removesuffix(self.ending).replace("_", " ").strip()

    def cell(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return _cell(value)
        if self.name:
            return "" if value != value else f"{value / self.size:.4g}"
        is_long = isinstance(value, float) and 1e5 <= abs(value) < 1e12
        return f"{value:,.0f}" if is_long else _cell(value)


_UNITS = (
    _Unit("_bytes_per_s", "GB/s", 1e9),
    _Unit("_flop_per_s", "TFLOP/s", 1e12),
    _Unit("_bytes", "GiB", float(1 << 30)),
    _Unit("_ratio", "%", 0.01),
)
_SHARES = ("mfu", "hfu", "mfu_precision", "mfu_full_attention")


def _unit_of(column: str) -> _Unit:
    if column in _SHARES:
        return _Unit(name="%", size=0.01)
    return next((unit for unit in _UNITS if column.endswith(unit.ending)), _Unit())


def _column(values: list[Any]) -> NDArray[Any]:
    known = [value for value in values if value is not None]
    if any(isinstance(value, (list, dict)) for value in known):
        column = np.empty(len(values), object)
        column[:] = values
        return column
    if any(isinstance(value, str) for value in known) or not known:
        return np.array(["" if value is None else str(value) for value in values], dtype=np.str_)
    if all(isinstance(value, bool) for value in known) and len(known) == len(values):
        return np.array(values, bool)
    if all(isinstance(value, int) for value in known) and len(known) == len(values):
        return np.array(values, np.int64)
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _tells(column: NDArray[Any]) -> bool:
    if column.dtype.kind == "O":
        return False
    if column.dtype.kind == "U":
        return bool((column != "").any())
    return column.dtype.kind != "f" or not bool(np.isnan(column).all())


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value != value:
            return ""
        return f"{value:.0f}" if 1e5 <= abs(value) < 1e12 else f"{value:.5g}"
    return str(value)
