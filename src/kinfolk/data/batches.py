"""Files piece by piece, in the order of their rows, in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from kinfolk.data.csv_files import csv_batches, csv_header, refuse_separator
from kinfolk.data.tables import Source, check_names, check_text, checked_kind, reading

CELL = 16
"""Bytes of a CSV file per cell, roughly; only the size of a piece depends on it."""


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A file that is read piece by piece."""

    path: Path
    kind: str
    """csv, parquet or arrow."""
    names: tuple[str, ...]
    """All columns that exist, wanted or not."""
    types: dict[str, pa.DataType]
    """The wanted columns that exist."""

    def source(self, table: pa.Table | None = None, *, rows: int = 0) -> Source:
        """A part of the file as a table in memory; without one, an empty table of so many rows.

        The part's columns are the wanted ones in order, then the number of each row.
        """
        cells = self.nothing() if table is None else table
        untyped = self.kind == "csv"
        return Source(
            name=self.path.name,
            columns=dict(zip(self.types, cells.columns, strict=False)),
            rows=rows if table is None else table.num_rows,
            untyped=untyped,
            names=self.names,
            path=self.path if untyped else None,
            numbers=cells.column("row").to_numpy(),
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
        with reading(self.path, self.kind):
            for batch in self._batches(rows):
                for start in range(0, batch.num_rows, rows):
                    piece = batch.slice(start, rows)
                    columns = [pa.chunked_array([piece.column(name)]) for name in self.types]
                    if self.kind != "csv":
                        found = dict(zip(self.types, columns, strict=True))
                        check_text(found, self.path.name, first=done)
                    numbers = pa.array(np.arange(done, done + piece.num_rows))
                    done += piece.num_rows
                    yield pa.table([*columns, numbers], names=self._labels)

    def _batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        columns = list(self.types)
        if self.kind == "csv":
            block = max(rows * len(self.names) * CELL, 1 << 16)
            yield from csv_batches(self.path, columns, list(self.names), block=block)
        elif self.kind == "arrow":
            with pa.OSFile(str(self.path)) as file, ipc.open_file(file) as reader:
                for index in range(reader.num_record_batches):
                    yield reader.get_batch(index).select(columns)
        elif self.path.is_dir():
            scanner = ds.dataset(self.path, format="parquet", partitioning="hive").scanner(
                columns={name: ds.field(name) for name in columns},
                batch_size=rows,
                batch_readahead=1,
                fragment_readahead=1,
            )
            yield from scanner.to_batches()
        else:
            # Without its buffer it reads a page at a time, however large a row group is.
            with pq.ParquetFile(self.path, pre_buffer=False) as file:
                yield from file.iter_batches(rows, columns=columns)


def open_stream(path: Path, wanted: list[str]) -> Stream:
    """Look at a file's columns; nothing else is read yet."""
    kind = checked_kind(path)
    with reading(path, kind):
        if kind == "csv":
            types = dict.fromkeys(csv_header(path), pa.string())
            names = csv_header(path)
            if not types.keys() & set(wanted):
                refuse_separator(path, names)
        else:
            schema = _arrow_schema(path, kind)
            names, types = schema.names, dict(zip(schema.names, schema.types, strict=True))
    check_names(wanted, path.name, names=names)
    present = {name: types[name] for name in dict.fromkeys(wanted) if name in types}
    return Stream(path=path, kind=kind, names=tuple(names), types=present)


def _arrow_schema(path: Path, kind: str) -> pa.Schema:
    if kind == "parquet":
        return pq.ParquetDataset(path).schema
    with pa.OSFile(str(path)) as file, ipc.open_file(file) as reader:
        return reader.schema
