"""Files and data frames -> Arrow tables, as they are: nothing is guessed, nothing coerced.

A file is opened once: for its columns and their types, then for its rows, all at once or piece by
piece in little memory. A CSV file, which is read to its end for that, gives its digest as well.
"""

from __future__ import annotations

import hashlib
import hmac
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from kinfolk._io import local_path
from kinfolk.data.csv_files import CsvFile, UnreadableError, reason, row_lines
from kinfolk.data.excel_files import ExcelFile
from kinfolk.data.frames import (
    TableLike,
    check_names,
    check_text,
    frame_digest,
    read_frame,
    refuse_spark,
)
from kinfolk.data.stat_files import STAT_KINDS, Labels, StatFile
from kinfolk.errors import Problem, private
from kinfolk.schema.attributes import shown

__all__ = ["Source", "TableFile", "TableLike", "UnreadableError", "read_source"]

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".dta": "stata",
    ".sav": "spss",
    ".zsav": "spss",
    ".sas7bdat": "sas",
    ".xlsx": "excel",
}
_NAMES = {"stata": "Stata", "spss": "SPSS", "sas": "SAS", "excel": "Excel"}
"""What kinds of files are called in messages, where not by their own name."""
PIECE = 131_072
"""Rows that are read at a time, unless the caller says otherwise."""
CELL = 16
"""Bytes of a CSV file per cell, roughly; only the size of a piece depends on it."""


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
    """Whether cells are plain text (CSV, Excel), so that '3' may stand for the number 3."""
    truth_as_numbers: bool = False
    """Whether 1 may stand for true, and 0 for false: Stata, SPSS and SAS have no other way."""
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

    def problem(self, row: int, column: str, what: str, fix: str) -> Problem:
        """Something that is wrong with a cell."""
        return Problem(where=f"{self.place(row)}, column {column}", what=what, fix=fix)

    @cached_property
    def _lines(self) -> list[int]:
        return row_lines(self.path) if self.path else []


def read_source(table: TableLike, wanted: Iterable[str], *, name: str) -> Source:
    """Read the wanted columns of a file or frame; columns that do not exist are left out."""
    columns = list(dict.fromkeys(wanted))
    opened = open_file(table)
    if isinstance(opened, TableFile):
        with opened:
            return opened.stream(columns).read()
    found, rows, names = read_frame(opened, columns, name)
    return Source(name=name, columns=found, rows=rows, untyped=False, names=names)


def open_file(table: TableLike) -> TableLike:
    """A path as a file that is opened once; any table in memory as it is."""
    if isinstance(table, str | Path):
        return TableFile(local_path(table))
    refuse_spark(table)
    return table


@dataclass(frozen=True, kw_only=True)
class OpenFile:
    """What the formats have in common."""

    schema: pa.Schema
    batches: Callable[[list[str], int], Iterable[pa.RecordBatch]]
    """Some columns that exist, about so many rows at a time."""
    close: Callable[[], None] = lambda: None
    csv: CsvFile | None = None
    labels: Labels = field(default_factory=Labels)


class TableFile:
    """A file that is opened once, when somebody first asks for its columns.

    Closing it gives the file back; what was found out about it stays.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        """What messages call it."""
        self.named_by: str | None = None
        """The column that names a row, where rows have no order."""

    @cached_property
    def kind(self) -> str:
        """How the file is to be read, once it is known to be there: csv, parquet, stata ..."""
        path = self.path
        try:
            exists, folder = path.exists(), path.is_dir()
        except (OSError, ValueError) as error:
            what = f"the path cannot be used ({reason(error)})."
            raise UnreadableError(shown(str(path)), what, "Check the path.") from None
        if not exists:
            raise UnreadableError(str(path), "there is no such file.", "Check the path.")
        if folder and not (SUFFIXES.get(path.suffix) == "parquet" and any(path.rglob("*.parquet"))):
            raise UnreadableError(str(path), "is a folder.", "Name the file in it.")
        return _kind(path)

    @cached_property
    def _opened(self) -> OpenFile:
        with reading(self.path, self.kind):
            return _OPEN[self.kind](self.path)

    @property
    def schema(self) -> pa.Schema:
        """All columns and their types; those of a CSV or Excel file are text."""
        return self._opened.schema

    @property
    def labels(self) -> Labels:
        """What the file calls its columns and their values; only Stata's and SPSS's do."""
        return self._opened.labels

    @property
    def untyped(self) -> bool:
        """Whether cells are plain text."""
        return self.kind in ("csv", "excel")

    @property
    def stores_types(self) -> bool:
        """Whether somebody chose the types; SPSS and SAS have one for all numbers."""
        return not self.untyped and self.kind not in ("spss", "sas")

    def stream(self, wanted: Iterable[str]) -> Stream:
        """The wanted columns that exist; none of their rows is read yet."""
        columns, names = list(dict.fromkeys(wanted)), self.schema.names
        present = [name for name in columns if name in names]
        check_names(columns, self.name, names=names)
        return Stream(file=self, types={name: self.schema.field(name).type for name in present})

    def batches(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Some columns that exist, about `rows` rows at a time."""
        with reading(self.path, self.kind):
            yield from self._opened.batches(columns, rows)

    def digest(self) -> bytes:
        """The SHA-256 of the bytes: those that were read, or where not all were, those on disk."""
        if "_opened" in self.__dict__ and self._opened.csv and self._opened.csv.digest:
            return self._opened.csv.digest
        found = hashlib.sha256()
        # A Parquet dataset may be a folder of files.
        for part in sorted(self.path.rglob("*.parquet")) if self.path.is_dir() else [self.path]:
            with part.open("rb") as file:
                hashlib.file_digest(file, lambda: found)
        return found.digest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if "_opened" in self.__dict__:
            self._opened.close()


def _kind(path: Path) -> str:
    """Tell from its name how a file is to be read."""
    suffixes = [s.lower() for s in path.suffixes]
    zipped = bool(suffixes) and suffixes[-1] == ".gz"
    if zipped:
        suffixes.pop()
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None or (zipped and kind != "csv"):
        known = f"Use one of {', '.join(SUFFIXES)} (.gz for CSV)."
        raise UnreadableError(str(path), "the file type is unknown.", known)
    return kind


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """What goes wrong while a file is read becomes a message that names the file."""
    kind = _NAMES.get(kind, kind)
    try:
        yield
    except pa.ArrowInvalid:
        what = f"is not a complete {kind} file."
        raise UnreadableError(path.name, what, "Write it again, or check its name.") from None
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        what = f"cannot be read as {kind} ({reason(error)})."
        fix = "Check that the file is complete, may be read, and is what its name says."
        raise UnreadableError(path.name, what, fix) from None


def _open_csv(path: Path) -> OpenFile:
    file = CsvFile(path)

    def batches(columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        return file.rows(columns, block=max(rows * len(file.header) * CELL, 1 << 16))

    return OpenFile(schema=file.schema, batches=batches, close=file.close, csv=file)


def _open_arrow(path: Path) -> OpenFile:
    file = pa.OSFile(str(path))
    reader = ipc.open_file(file)

    def batches(columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index).select(columns)

    return OpenFile(schema=reader.schema, batches=batches, close=file.close)


def _open_parquet(path: Path) -> OpenFile:
    if path.is_dir():
        return _open_folder(path)
    # Without its buffer it reads a page at a time, however large a row group is.
    file = pq.ParquetFile(path, pre_buffer=False)

    def batches(columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        yield from file.iter_batches(rows, columns=columns)

    return OpenFile(schema=file.schema_arrow, batches=batches, close=file.close)


def _open_folder(path: Path) -> OpenFile:
    # Imported here because it brings pandas along.
    import pyarrow.dataset as ds

    hive = ds.HivePartitioning.discover(infer_dictionary=True)
    found = ds.dataset(path, format="parquet", partitioning=hive)

    def batches(columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        fields = {name: ds.field(name) for name in columns}
        few = {"batch_size": rows, "batch_readahead": 1, "fragment_readahead": 1}
        yield from found.scanner(columns=fields, **few).to_batches()

    return OpenFile(schema=found.schema, batches=batches)


def _open_stat(path: Path, kind: str) -> OpenFile:
    file = StatFile(path, kind)
    return OpenFile(schema=file.schema, batches=file.batches, labels=file.labels)


def _open_excel(path: Path) -> OpenFile:
    file = ExcelFile(path)
    return OpenFile(schema=file.schema, batches=file.batches)


_OPEN: dict[str, Callable[[Path], OpenFile]] = {
    "csv": _open_csv,
    "arrow": _open_arrow,
    "parquet": _open_parquet,
    "excel": _open_excel,
    **{kind: partial(_open_stat, kind=kind) for kind in STAT_KINDS},
}


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Some columns of a file, read all at once or piece by piece in the order of the rows."""

    file: TableFile
    types: dict[str, pa.DataType]
    """The wanted columns that exist."""

    def read(self) -> Source:
        """All rows."""
        batches = list(self.file.batches(list(self.types), PIECE)) if self.types else []
        columns = {
            name: pa.chunked_array([batch.column(name) for batch in batches], dtype)
            for name, dtype in self.types.items()
        }
        if not self.file.untyped:
            check_text(columns, self.file.name)
        return self._source(columns, sum(batch.num_rows for batch in batches), None)

    def source(self, part: pa.Table | None = None, *, rows: int = 0) -> Source:
        """A part, such as `pieces` gives, in memory; without one, an empty one of so many rows."""
        cells = self.nothing() if part is None else part
        columns = dict(zip(self.types, cells.columns, strict=False))
        numbers = cells.column("row").to_numpy()
        return self._source(columns, rows if part is None else part.num_rows, numbers)

    def _source(
        self,
        columns: dict[str, pa.ChunkedArray],
        rows: int,
        numbers: npt.NDArray[np.int64] | None,
    ) -> Source:
        untyped = self.file.untyped
        return Source(
            name=self.file.name,
            columns=columns,
            rows=rows,
            untyped=untyped,
            truth_as_numbers=self.file.kind in STAT_KINDS,
            names=tuple(self.file.schema.names),
            path=self.file.path if self.file.kind == "csv" else None,
            numbers=numbers,
            named_by=self.file.named_by,
        )

    def nothing(self) -> pa.Table:
        """A part without rows."""
        types = [*self.types.values(), pa.int64()]
        return pa.table([pa.array([], dtype) for dtype in types], names=self._labels)

    @property
    def _labels(self) -> list[str]:
        """What the columns of a part are called: their own names may be anything."""
        return [*map(str, range(len(self.types))), "row"]

    def pieces(self, rows: int) -> Iterator[pa.Table]:
        """The wanted columns, then the number of each row: some `rows` rows at a time."""
        done = 0
        for batch in self.file.batches(list(self.types), rows):
            for start in range(0, batch.num_rows, rows):
                piece = batch.slice(start, rows)
                columns = [pa.chunked_array([piece.column(name)]) for name in self.types]
                if not self.file.untyped:
                    found = dict(zip(self.types, columns, strict=True))
                    check_text(found, self.file.name, first=done)
                numbers = pa.array(np.arange(done, done + piece.num_rows))
                done += piece.num_rows
                yield pa.table([*columns, numbers], names=self._labels)


def digest_tables(tables: Mapping[str, TableLike], keyed: hmac.HMAC) -> str:
    """The keyed digest of tables as they were given: the bytes of files, the cells of frames.

    Whoever does not have the key can neither recognise the data by its digest nor guess it.

    >>> one = {"people": pa.table({"sex": [1, 2]})}
    >>> digest_tables(one, hmac.new(b"k", digestmod="sha256"))[:8] == (
    ...     digest_tables(one, hmac.new(b"k", digestmod="sha256"))[:8]
    ... )
    True
    """
    opened = {name: open_file(table) for name, table in tables.items()}
    return keyed_digest({name: table_digest(table) for name, table in opened.items()}, keyed)


def table_digest(table: TableLike) -> bytes:
    """What `sha256sum` says of a file; of a frame, the digest of its cells."""
    return table.digest() if isinstance(table, TableFile) else frame_digest(table)


def keyed_digest(digests: Mapping[str, bytes], keyed: hmac.HMAC) -> str:
    """The keyed digest of tables by their own digests."""
    for name in sorted(digests):
        keyed.update(len(name.encode()).to_bytes(4, "big") + name.encode() + digests[name])
    return keyed.hexdigest()
