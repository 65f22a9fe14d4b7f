"""Files and data frames -> Arrow tables, as they are: nothing is guessed, nothing coerced."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pyarrow.types as pt

from kinfolk.data.csv_files import (
    UnreadableError,
    csv_header,
    csv_options,
    first_of_n,
    read_csv,
    row_lines,
)
from kinfolk.errors import DataError, Problem, private
from kinfolk.schema.attributes import kind_of, shown

__all__ = [
    "Source",
    "TableLike",
    "UnreadableError",
    "column_names",
    "csv_header",
    "csv_options",
    "file_kind",
    "first_of_n",
    "read_source",
]

TableLike: TypeAlias = Any
"""A path to CSV, Parquet or Arrow; or a pandas, polars or pyarrow table."""

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table in memory that remembers where its rows came from."""

    name: str
    """What messages call it: the file's name, or the table's."""
    columns: dict[str, pa.ChunkedArray]
    """The wanted columns that exist."""
    rows: int
    """How many rows there are."""
    untyped: bool
    """Whether cells are plain text (CSV), so that '3' may stand for the number 3."""
    names: tuple[str, ...] = ()
    """All columns that exist, wanted or not."""
    path: Path | None = None
    """The file, where it is a CSV file whose lines can be looked up."""
    numbers: npt.NDArray[np.int64] | None = None
    """(rows,) which row of the whole table each one is, where this is part of a table."""
    named_by: str | None = None
    """The column that names a row, where rows have no order."""

    def place(self, row: int) -> str:
        """Name a row the way its reader would look for it."""
        if self.named_by is not None:
            return f"{self.name}, {self.named_by} {private(self.columns[self.named_by][row])}"
        if self.numbers is not None:
            row = int(self.numbers[row])
        if not self.untyped:
            return f"{self.name}, row {private(row + 1)}"
        line = self._lines[row] if row < len(self._lines) else row + 2
        return f"{self.name}, line {private(line)}"

    @cached_property
    def _lines(self) -> list[int]:
        return row_lines(self.path) if self.path else []


def read_source(table: TableLike, wanted: Iterable[str], *, name: str) -> Source:
    """Read the wanted columns of a file or frame; columns that do not exist are left out."""
    columns = list(dict.fromkeys(wanted))
    if isinstance(table, str | Path):
        return _read_file(Path(table), columns)
    return _read_frame(table, columns, name)


def column_names(frame: TableLike) -> list[str]:
    """The columns of a data frame that are called by a text, once each.

    >>> column_names(pa.table({"veh": [0, 1], "home": [1, 2]}))
    ['veh', 'home']
    """
    names = (
        frame.schema.names
        if isinstance(frame, pa.Table | pa.RecordBatch)
        else nw.from_native(frame).collect_schema().names()
    )
    return [name for name in dict.fromkeys(names) if isinstance(name, str)]


def file_kind(path: Path) -> str:
    """Tell from its name how a file is to be read: csv, parquet or arrow."""
    suffixes = [s.lower() for s in path.suffixes]
    zipped = bool(suffixes) and suffixes[-1] == ".gz"
    if zipped:
        suffixes.pop()
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None or (zipped and kind != "csv"):
        known = f"Use one of {', '.join(SUFFIXES)} (.gz for CSV)."
        raise UnreadableError(str(path), "the file type is unknown.", known)
    return kind


def checked_kind(path: Path) -> str:
    """How a file is to be read, once it is known to be there."""
    try:
        exists, folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:
        what = f"the path cannot be used ({_reason(error)})."
        raise UnreadableError(shown(str(path)), what, "Check the path.") from None
    if not exists:
        raise UnreadableError(str(path), "there is no such file.", "Check the path.")
    if folder and not (SUFFIXES.get(path.suffix) == "parquet" and any(path.rglob("*.parquet"))):
        raise UnreadableError(str(path), "is a folder.", "Name the file in it.")
    return file_kind(path)


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """What goes wrong while a file is read becomes a message that names the file."""
    try:
        yield
    except pa.ArrowInvalid:
        what = f"is not a complete {kind} file."
        raise UnreadableError(path.name, what, "Write it again, or check its name.") from None
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        what = f"cannot be read as {kind} ({_reason(error)})."
        fix = "Check that the file is complete, may be read, and is what its name says."
        raise UnreadableError(path.name, what, fix) from None


def _read_file(path: Path, columns: list[str]) -> Source:
    kind = checked_kind(path)
    with reading(path, kind):
        table, names = _read_kind(path, kind, columns)
    return _source(table, columns, path.name, names=names, path=path if kind == "csv" else None)


def _reason(error: BaseException) -> str:
    """What the system says, without Python's or Arrow's own words where that is possible."""
    number = getattr(error, "errno", None)
    if number:
        return os.strerror(number)
    text = str(error.args[0] if error.args else type(error).__name__).split("\n")[0]
    return private(text if len(text) <= 100 else f"{text[:97]}...")


def _read_kind(path: Path, kind: str, columns: list[str]) -> tuple[pa.Table, list[str]]:
    """Read the columns that exist, and say which exist at all."""
    if kind == "csv":
        return read_csv(path, columns)
    if kind == "arrow":
        table = feather.read_table(path)
        return table, table.column_names
    names = list(pq.ParquetDataset(path).schema.names)
    return pq.read_table(path, columns=[c for c in columns if c in names]), names


def _read_frame(frame: TableLike, columns: list[str], name: str) -> Source:
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return _source(frame, columns, name, names=frame.column_names)
    try:
        data = nw.from_native(frame)
        names = data.collect_schema().names()
        if isinstance(data, nw.LazyFrame):
            data = data.select(c for c in columns if c in names).collect()
    except TypeError:
        what = f"{type(frame).__name__} is not a table."
        fix = "Pass a path, or a pandas, polars or pyarrow table."
        raise UnreadableError(name, what, fix) from None
    except nw.exceptions.DuplicateError:
        fix = "Rename or remove all but one."
        raise UnreadableError(name, "two columns have the same name.", fix) from None
    except Exception as error:  # A lazy frame runs its owner's own query here.
        what = f"the lazy frame cannot be computed ({_reason(error)})."
        raise UnreadableError(name, what, "Check its query.") from None
    arrays: dict[str, pa.ChunkedArray] = {}
    problems: list[Problem] = []
    for column in (c for c in columns if c in names):
        try:
            _check_objects(data[column])
            arrays[column] = data.select(column).to_arrow().column(column)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            problems.append(_explain_cells(data[column].to_list(), error, name, column))
    if problems:
        raise DataError(name, problems)
    return _checked(arrays, len(data), name, names=[str(n) for n in names])


def _check_objects(cells: nw.Series[Any]) -> None:
    """Refuse NumPy's dates among other objects, with which Arrow ends the process."""
    if cells.dtype == nw.Object:
        dates = [isinstance(cell, np.datetime64 | np.timedelta64) for cell in cells.to_list()]
        if any(dates) and not all(dates):
            raise TypeError("dates among other values")


def _explain_cells(cells: list[Any], error: Exception, name: str, column: str) -> Problem:
    """Why a data frame's column is no Arrow column: nearly always, it mixes kinds."""
    plain = [cell.item() if hasattr(cell, "item") else cell for cell in cells]
    kinds = {row: kind_of(cell) for row, cell in enumerate(plain) if not _is_blank(cell)}
    fix = "Give the column one type: all numbers, all text, or all true/false."
    first = next(iter(kinds), 0)
    others = [row for row, kind in kinds.items() if kind != kinds[first]]
    if not others:
        what = f"the column cannot be read ({_reason(error)})."
        fix = "Convert it to plain numbers, text or true/false."
        return Problem(where=f"{name}, column {column}", what=what, fix=fix)
    row = others[0]
    what = (
        f"the column mixes {kinds[first]} ({private(shown(plain[first]))} in row "
        f"{private(first + 1)}) and {kinds[row]} ({private(shown(plain[row]))})"
        f"{first_of_n(len(others))}."
    )
    return Problem(where=f"{name}, row {private(row + 1)}, column {column}", what=what, fix=fix)


def _is_blank(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float) and cell != cell


def _source(
    table: pa.Table, columns: list[str], name: str, *, names: list[str], path: Path | None = None
) -> Source:
    check_names(columns, name, names=names)
    present = {c: table.column(c) for c in columns if c in table.column_names}
    if path is None:
        return _checked(present, table.num_rows, name, names=names)
    rows = table.num_rows
    return Source(
        name=name, columns=present, rows=rows, untyped=True, names=tuple(names), path=path
    )


def check_names(columns: list[str], name: str, *, names: list[str]) -> None:
    """No wanted column may be there twice."""
    twice = [c for c in columns if names.count(c) > 1]
    if twice:
        what = f"{private(names.count(twice[0]))} columns are called {twice[0]!r}."
        raise UnreadableError(name, what, "Rename or remove all but one.")


def _checked(
    columns: dict[str, pa.ChunkedArray], rows: int, name: str, *, names: list[str]
) -> Source:
    """A typed source, once its text is known to be text."""
    check_text(columns, name)
    return Source(name=name, columns=columns, rows=rows, untyped=False, names=tuple(names))


def check_text(columns: dict[str, pa.ChunkedArray], name: str, *, first: int = 0) -> None:
    """Text must be text; `first` is the row of the whole table at which these columns begin."""
    problems: list[Problem] = []
    for column, cells in columns.items():
        try:
            cells.validate(full=True)
        except pa.ArrowInvalid:
            problems.append(_explain_bytes(cells, name, column, first))
    if problems:
        raise DataError(name, problems)


def _explain_bytes(cells: pa.ChunkedArray, name: str, column: str, first: int) -> Problem:
    """Which cell of a text column is not text."""
    plain = cells.cast(cells.type.value_type) if pt.is_dictionary(cells.type) else cells
    bad: list[tuple[int, bytes]] = []
    if not pt.is_nested(plain.type):
        for row, cell in enumerate(plain.cast(pa.large_binary()).to_pylist()):
            try:
                (cell or b"").decode()
            except UnicodeDecodeError:
                bad.append((row, cell))
    if not bad:
        what, fix = "the column is damaged.", "Write the table again."
        return Problem(where=f"{name}, column {column}", what=what, fix=fix)
    row, cell = bad[0]
    where = f"{name}, row {private(first + row + 1)}, column {column}"
    what = f"{private(shown(cell))} is not text in UTF-8{first_of_n(len(bad))}."
    return Problem(where=where, what=what, fix="Store the text in UTF-8.")
