"""A file or frame -> all of its columns; and what each holds: kind, distinct values, how often."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from kinfolk._typing import Floats, Ints
from kinfolk.data.columns import column_kind, distinct, parse_number
from kinfolk.data.stat_files import Labels
from kinfolk.data.tables import Source, TableFile, TableLike, read_source
from kinfolk.errors import DataError, KinfolkError
from kinfolk.schema import Value

LONGEST_NAME = 200
"""A longer column name is a sentence, and YAML keys have limits."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A table with all of its readable columns."""

    table: str
    """What the schema calls it: the file's name without its ending."""
    source: Source
    """The columns that can be read."""
    order: tuple[str, ...]
    """The names of all columns, in the file's order."""
    unreadable: Mapping[str, str]
    """Columns that cannot be read, and why."""
    labels: Labels
    """What the file calls columns and values."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.source.name


def open_table(table: TableLike, *, default: str) -> Opened:
    """Read every column of a table; `default` names it where no file does."""
    # Reading nothing first: a file that is not there, or no table, is explained by the reader.
    names = read_source(table, [], name=default).names
    unreadable = {name: why for name in names if (why := _name_trouble(name, names))}
    source = _read(table, [name for name in names if name not in unreadable], default, unreadable)
    if not source.columns:
        raise KinfolkError(f"{source.name}: no column can be read. Check that it is a table.")
    if not source.rows:
        raise KinfolkError(f"{source.name}: the table has no rows. Check that it is the right one.")
    stem, labels = "", Labels()
    if isinstance(table, str | Path):
        stem = table_name(Path(table).name)
        with TableFile(Path(table)) as file:
            labels = file.labels
    order = tuple(dict.fromkeys(names))
    return Opened(
        table=stem or default,
        source=source,
        order=order,
        unreadable=unreadable,
        labels=labels,
    )


def table_name(file_name: str) -> str:
    """What to call the table in a file.

    >>> table_name("psam h26.csv.gz"), table_name("persons.parquet"), table_name("été.csv")
    ('psam_h26', 'persons', 'ete')
    """
    stem = re.sub(r"\.gz$", "", file_name, flags=re.IGNORECASE)
    return safe_name(re.sub(r"(?<=.)\.[A-Za-z][A-Za-z0-9]*$", "", stem))


def safe_name(text: str) -> str:
    """A table's name is also its file's: letters, digits, - and _ are safe everywhere."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_-")


def is_clean(text: str) -> bool:
    """Whether a text has no line breaks, control characters or unassigned ones."""
    odd = ("Cc", "Cn", "Cs", "Zl", "Zp")
    return not any(unicodedata.category(character) in odd for character in text)


def _name_trouble(name: str, names: tuple[str, ...]) -> str | None:
    if not name.strip():
        return "it has no name"
    if names.count(name) > 1:
        return "several columns have this name; rename all but one"
    if len(name) > LONGEST_NAME or not is_clean(name):
        return "its name is too long or holds line breaks or control characters; rename it"
    return None


def _read(table: TableLike, wanted: list[str], default: str, unreadable: dict[str, str]) -> Source:
    """Read the wanted columns; one that cannot be read does not keep the others from it."""
    try:
        source = read_source(table, wanted, name=default)
    except DataError:
        parts = {name: _read_one(table, name, default) for name in wanted}
        unreadable |= {
            name: "its cells are of several types, or damaged; give it one type"
            for name, part in parts.items()
            if part is None
        }
        good = [name for name in wanted if parts[name] is not None]
        source = read_source(table, good, name=default)
    for name in wanted:
        if name not in source.columns and name not in unreadable:
            unreadable[name] = "its name is not a text; rename it"
    return source


def _read_one(table: TableLike, column: str, default: str) -> Source | None:
    try:
        return read_source(table, [column], name=default)
    except DataError:
        return None


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
    instead: str | None = None
    """What would declare it after all, as the schema would write it."""


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

    def at(self) -> npt.NDArray[Any]:
        """(rows,) the column's values: numbers (blank is NaN), or objects (blank is None)."""
        cells, positions = distinct(self.column)
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
