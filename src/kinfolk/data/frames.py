"""Data frames in, as Arrow columns; Arrow tables out, into data frames or into files."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pyarrow.types as pt

from kinfolk._io import new_file
from kinfolk.data.csv_files import UnreadableError, first_of_n, reason
from kinfolk.data.spark_session import is_spark
from kinfolk.errors import DataError, KinfolkError, Problem, private
from kinfolk.schema.attributes import kind_of, shown

TableLike: TypeAlias = Any
"""A path to a file of any format that is read; or a pandas, polars, pyarrow or Spark table."""

FORMATS = ("csv", "parquet", "dta", "sav")
"""What synthetic tables can be written as; the suffixes of their files."""


def to_frame(table: pa.Table, like: str, *, nullable: Collection[str] = ()) -> Any:
    """Turn an Arrow table into a 'pandas', 'polars' or 'pyarrow' table.

    In pandas, whole numbers and true/false in the columns that are `nullable` keep their kind, in a
    type that has blanks, whether or not there are any.

    >>> to_frame(pa.table({"veh": [0, 1]}), "pyarrow").num_rows
    2
    """
    if like == "pyarrow":
        return table
    if like not in ("pandas", "polars"):
        choices = "pandas, polars or pyarrow"
        raise KinfolkError(f"frames of kind {like!r} are unknown. Use {choices}.")
    frame = nw.from_native(table, eager_only=True)
    try:
        if like == "polars":
            return frame.to_polars()
        found = frame.to_pandas()
    except ImportError:
        raise KinfolkError(f"{like} is not installed. Run `pip install {like}`.") from None
    for name in nullable:
        column = table.column(name)
        if pt.is_integer(column.type) or pt.is_boolean(column.type):
            found[name] = column.to_pandas(types_mapper=_nullable)
    return found


def _nullable(dtype: pa.DataType) -> Any:
    """The type of pandas that holds the same values and blanks."""
    from pandas.api.types import pandas_dtype

    if pt.is_boolean(dtype):
        return pandas_dtype("boolean")
    return pandas_dtype(str(dtype).replace("i", "I").replace("u", "U"))


def frame_kind(frame: Any) -> str:
    """Tell which library a table comes from, Spark too; a path counts as 'pyarrow'."""
    if isinstance(frame, str | Path | pa.Table | pa.RecordBatch):
        return "pyarrow"
    if is_spark(frame):
        return "spark"
    implementation = nw.from_native(frame).implementation
    if implementation.is_pandas():
        return "pandas"
    return "polars" if implementation.is_polars() else "pyarrow"


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as CSV or Parquet, by the file's suffix, all of it or nothing."""
    with new_file(path) as file:
        if path.suffix == ".csv":
            pacsv.write_csv(without_dictionaries(table), file)
        else:
            pq.write_table(table, file)


def without_dictionaries(table: pa.Table) -> pa.Table:
    """The values themselves: Arrow cannot write dictionaries as CSV."""
    plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table]
    return pa.table(plain, names=table.column_names)


def read_frame(
    frame: TableLike, columns: list[str], name: str
) -> tuple[dict[str, pa.ChunkedArray], int, tuple[str, ...]]:
    """Those of the columns that a data frame has, its rows, and the names of all its columns."""
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        names, rows = frame.column_names, frame.num_rows
        check_names(columns, name, names=names)
        arrays = {c: frame.column(c) for c in columns if c in names}
    else:
        arrays, rows, names = _converted(frame, columns, name)
    check_text(arrays, name)
    return arrays, rows, tuple(str(n) for n in names)


def refuse_spark(frame: TableLike) -> None:
    """Never bring the rows of a Spark DataFrame together in this process.

    They would all have to fit into its memory, and be read anew whenever somebody looks at them.
    """
    if is_spark(frame) or type(frame).__module__.startswith("sqlframe."):
        raise KinfolkError(
            "a DataFrame of Spark is not collected on one machine. `Synthesizer.fit`, `validate`, "
            "`evaluate` and `count_spark` take it as it is, if all tables are Spark's; for "
            "anything else, write it as Parquet (frame.write.parquet) to a folder that this "
            "machine can read, and pass the path."
        )


def _converted(
    frame: TableLike, columns: list[str], name: str
) -> tuple[dict[str, pa.ChunkedArray], int, list[str]]:
    """The same for a data frame of another library."""
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
        what = f"the lazy frame cannot be computed ({reason(error)})."
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
    return arrays, len(data), names


def frame_types(frame: TableLike, columns: list[str]) -> dict[str, pa.DataType]:
    """The storage types of some columns of a data frame; no row is looked at."""
    if isinstance(frame, pa.Table | pa.RecordBatch):
        schema = frame.schema
    else:
        lazy = nw.from_native(frame).lazy()
        present = [name for name in columns if name in lazy.collect_schema().names()]
        schema = lazy.select(present).head(0).collect("pyarrow").to_arrow().schema
    return dict(zip(schema.names, schema.types, strict=True))


def frame_digest(frame: TableLike) -> bytes:
    """The SHA-256 of the cells of all columns that are called by a text and can be read."""
    names = (
        frame.schema.names
        if isinstance(frame, pa.Table | pa.RecordBatch)
        else nw.from_native(frame).collect_schema().names()
    )
    found = hashlib.sha256()
    for name in sorted({name for name in names if isinstance(name, str)}):
        try:
            column = read_frame(frame, [name], "table")[0][name]
        except (DataError, UnreadableError):
            # A column that nobody can read, and that no schema can therefore name.
            continue
        sink = pa.BufferOutputStream()
        plain = pa.table({name: column}).combine_chunks()
        with pa.ipc.new_stream(sink, plain.schema) as writer:
            writer.write_table(plain)
        found.update(sink.getvalue())
    return found.digest()


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
        what = f"the column cannot be read ({reason(error)})."
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


def check_names(columns: list[str], name: str, *, names: list[str]) -> None:
    """No wanted column may be there twice."""
    twice = [c for c in columns if names.count(c) > 1]
    if twice:
        what = f"{private(names.count(twice[0]))} columns are called {twice[0]!r}."
        raise UnreadableError(name, what, "Rename or remove all but one.")


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
