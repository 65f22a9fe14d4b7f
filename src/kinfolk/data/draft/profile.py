"""What one column holds: its kind, its distinct values and how often each occurs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from kinfolk.data.columns import column_kind, distinct, parse_number
from kinfolk.data.draft.rounding import Floats, Ints
from kinfolk.schema import Value

LARGEST = 1e15
"""Numbers beyond this are ids, and not exact as floating-point numbers."""

_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_LONGEST_NUMBER = 40


@dataclass(frozen=True)
class LeftOut:
    """A column that cannot be an attribute."""

    why: str
    """The reason, as the rest of a sentence about the column."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Profile:
    """One column, summarised."""

    name: str
    kind: str
    """'number', 'text' or 'true/false': how `encode` would read the cells."""
    values: Sequence[Value]
    """(cells,) what each distinct cell means; in CSV, 3 and 3.0 are two cells of one value."""
    counts: Ints
    """(cells,) how often each occurs."""
    blanks: int
    rows: int
    column: pa.ChunkedArray
    untyped: bool

    @cached_property
    def tally(self) -> dict[Value, int]:
        """Every value with its count, in increasing order."""
        counted: dict[Value, int] = {}
        for value, count in zip(self.values, self.counts.tolist(), strict=True):
            key = int(value) if self.kind == "number" and _is_whole(value) else value
            counted[key] = counted.get(key, 0) + count
        return dict(sorted(counted.items()))

    @cached_property
    def numbers(self) -> Floats:
        """(distinct,) the values as numbers, increasing."""
        return np.array(list(self.tally), dtype=float)

    @cached_property
    def whole(self) -> bool:
        """Whether only whole numbers occur."""
        return self.kind == "number" and all(_is_whole(value) for value in self.values)

    @property
    def unique(self) -> bool:
        """Whether every row has a cell of its own."""
        return not self.blanks and len(self.values) == self.rows

    def at(self, rows: Ints | None = None) -> npt.NDArray[Any]:
        """(rows,) the column's values: numbers (blank is NaN), or objects (blank is None)."""
        column = self.column if rows is None else self.column.take(pa.array(rows))
        cells, positions = distinct(column)
        values = cell_values(cells, self.kind)
        if self.kind == "text":
            return np.array([*values, None], dtype=object)[positions]
        return np.array([*values, math.nan], dtype=float)[positions]


def profile(name: str, column: pa.ChunkedArray, *, untyped: bool) -> Profile | LeftOut:
    """Look at one column."""
    kind = "text" if untyped else column_kind(column.type)
    if pt.is_temporal(column.type):
        return LeftOut("it holds dates or times; turn them into a year, an age or a season")
    if kind not in ("number", "text", "true/false", "blank"):
        return LeftOut(f"kinfolk does not read columns of the type {kind}")
    cells, positions = distinct(column)
    if not len(cells):
        return LeftOut("it is blank in every row")
    if untyped:
        kind = _kind_of_cells(cells.to_pylist())
    return Profile(
        name=name,
        kind=kind,
        values=cell_values(cells, kind),
        counts=np.bincount(positions[positions >= 0], minlength=len(cells)),
        blanks=int((positions < 0).sum()),
        rows=len(column),
        column=column,
        untyped=untyped,
    )


def cell_values(cells: pa.Array, kind: str) -> list[Value]:
    """What distinct cells mean, read as the given kind; all of them must be of it."""
    plain = cells.to_pylist()
    if kind == "number":
        numbers = [parse_number(cell) for cell in plain]
        return [math.nan if number is None else number for number in numbers]
    if kind == "true/false":
        return [cell if isinstance(cell, bool) else cell.lower() == "true" for cell in plain]
    return list(plain)


def is_number(cell: str) -> bool:
    """Whether a CSV cell is a number and not a code with leading zeros.

    >>> [is_number(cell) for cell in ("3", "-2.50", "1e3", "007", "3 ", "1e999")]
    [True, True, True, False, False, False]
    """
    if len(cell) > _LONGEST_NUMBER or not _NUMBER.fullmatch(cell) or _LEADING_ZERO.match(cell):
        return False
    return math.isfinite(float(cell))


def _kind_of_cells(cells: list[str]) -> str:
    """How the cells of a CSV column are meant."""
    if all(cell.lower() in ("true", "false") for cell in cells):
        return "true/false"
    return "number" if all(is_number(cell) for cell in cells) else "text"


def _is_whole(value: Value) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
