"""Files and data frames -> Arrow tables, as they are: nothing is guessed, nothing coerced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq

from kinfolk.errors import DataError, KinfolkError, Problem

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

    def place(self, row: int) -> str:
        """Name a row the way its reader would look for it."""
        if self.untyped:
            return f"{self.name}, line {row + 2}"
        return f"{self.name}, row {row + 1}"


def read_source(table: TableLike, wanted: Iterable[str], *, name: str) -> Source:
    """Read the wanted columns of a file or frame; columns that do not exist are left out."""
    columns = list(dict.fromkeys(wanted))
    if isinstance(table, str | Path):
        return _read_file(Path(table), columns)
    return _read_frame(table, columns, name)


def file_kind(path: Path) -> str:
    """Tell from its name how a file is to be read: csv, parquet or arrow."""
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None:
        known = ", ".join(SUFFIXES)
        raise KinfolkError(f"{path}: the file type is unknown. Use one of {known} (.gz for CSV).")
    return kind


def _read_file(path: Path, columns: list[str]) -> Source:
    if not path.exists():
        raise KinfolkError(f"{path}: there is no such file. Check the path.")
    kind = file_kind(path)
    try:
        if kind == "csv":
            table = _read_csv(path, columns)
        elif kind == "parquet":
            names = set(pq.read_schema(path).names) if path.is_file() else set(columns)
            table = pq.read_table(path, columns=[c for c in columns if c in names])
        else:
            table = feather.read_table(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise KinfolkError(
            f"{path.name}: cannot be read as {kind} ({reason}). Check that the file is complete, "
            "in UTF-8, and what its name says."
        ) from None
    return _source(table, columns, path.name, untyped=kind == "csv")


def csv_options(path: Path, columns: list[str]) -> dict[str, Any]:
    """How CSV is read: every cell as text, an empty cell as blank, nothing else as blank."""
    delimiter = "\t" if ".tsv" in [s.lower() for s in path.suffixes] else ","
    return {
        "parse_options": pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": pacsv.ConvertOptions(
            include_columns=columns,
            column_types=dict.fromkeys(columns, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    }


def csv_header(path: Path) -> list[str]:
    """The column names of a CSV file."""
    parse = csv_options(path, [])["parse_options"]
    with pacsv.open_csv(path, parse_options=parse) as reader:
        return list(reader.schema.names)


def _read_csv(path: Path, columns: list[str]) -> pa.Table:
    header = csv_header(path)
    present = [c for c in columns if c in header]
    twice = [c for c in present if header.count(c) > 1]
    if twice:
        raise KinfolkError(
            f"{path.name}: the column {twice[0]!r} appears {header.count(twice[0])} times in the "
            "first line. Rename or remove all but one."
        )
    if not present:
        _explain_header(path, header)
        return pa.table({})
    ragged: list[tuple[int, int, int]] = []

    def note(row: Any) -> str:
        ragged.append((row.number or 0, row.actual_columns, row.expected_columns))
        return "skip"

    options = csv_options(path, present)
    options["parse_options"].invalid_row_handler = note
    # One thread, so that the reader can say the number of a line it cannot split.
    table = pacsv.read_csv(path, read_options=pacsv.ReadOptions(use_threads=False), **options)
    if ragged:
        line, actual, expected = ragged[0]
        what = f"{actual} cells, the first line has {expected}{_of(len(ragged), 'line')}."
        fix = "Look for an unquoted comma or a line break inside a cell."
        problem = Problem(where=f"{path.name}, line {line}", what=what, fix=fix)
        raise DataError(path.name, [problem])
    return table


def _explain_header(path: Path, header: list[str]) -> None:
    """A file separated by semicolons or tabs looks like one long column; say so."""
    for sign, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(header) == 1 and sign in header[0]:
            raise KinfolkError(
                f"{path.name}: the columns are separated by {word}, not commas. "
                "Save it with commas, or as Parquet."
            )


def _of(count: int, noun: str) -> str:
    return f" (the first of {count:,} such {noun}s)" if count > 1 else ""


def _read_frame(frame: TableLike, columns: list[str], name: str) -> Source:
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return _source(frame, columns, name, untyped=False)
    try:
        data = nw.from_native(frame)
    except TypeError:
        raise KinfolkError(
            f"{name}: a {type(frame).__name__} is not a table. "
            "Pass a path, or a pandas, polars or pyarrow table."
        ) from None
    if isinstance(data, nw.LazyFrame):
        data = data.collect()
    try:
        names = data.columns
    except nw.exceptions.DuplicateError:
        raise KinfolkError(
            f"{name}: two columns have the same name. Rename or remove all but one."
        ) from None
    arrays: dict[str, pa.ChunkedArray] = {}
    problems: list[Problem] = []
    for column in (c for c in columns if c in names):
        try:
            arrow = data.select(column).to_arrow()
            arrays[column] = arrow.column(column)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            what = f"its values are of several types ({str(error).splitlines()[0]})."
            fix = "Give the column one type: all numbers, all text, or all true/false."
            problems.append(Problem(where=f"{name}, column {column}", what=what, fix=fix))
    if problems:
        raise DataError(name, problems)
    return Source(name=name, columns=arrays, rows=len(data), untyped=False)


def _source(table: pa.Table, columns: list[str], name: str, *, untyped: bool) -> Source:
    twice = [c for c in columns if table.column_names.count(c) > 1]
    if twice:
        raise KinfolkError(f"{name}: two columns are called {twice[0]!r}. Rename one of them.")
    present = {c: table.column(c) for c in columns if c in table.column_names}
    return Source(name=name, columns=present, rows=table.num_rows, untyped=untyped)
