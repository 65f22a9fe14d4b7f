"""Tables by their digest, so that a ledger knows the data it is for."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kinfolk.data.tables import TableLike, UnreadableError, column_names, read_source
from kinfolk.errors import DataError

_PIECE = 2**20


def digest_tables(tables: Mapping[str, TableLike], keyed: hmac.HMAC) -> str:
    """The keyed digest of tables as they were given: the bytes of files, the cells of frames.

    Whoever does not have the key can neither recognise the data by its digest nor guess it.

    >>> one = {"people": pa.table({"sex": [1, 2]})}
    >>> digest_tables(one, hmac.new(b"k", digestmod="sha256"))[:8] == (
    ...     digest_tables(one, hmac.new(b"k", digestmod="sha256"))[:8]
    ... )
    True
    """
    for name in sorted(tables):
        table = tables[name]
        found = hashlib.sha256()
        if isinstance(table, str | Path):
            _add_file(found, Path(table))
        else:
            _add_cells(found, table)
        keyed.update(len(name.encode()).to_bytes(4, "big") + name.encode() + found.digest())
    return keyed.hexdigest()


def _add_file(found: Any, path: Path) -> None:
    # A Parquet dataset may be a folder of files.
    for part in sorted(path.rglob("*.parquet")) if path.is_dir() else [path]:
        with part.open("rb") as file:
            while piece := file.read(_PIECE):
                found.update(piece)


def _add_cells(found: Any, table: TableLike) -> None:
    for name in sorted(column_names(table)):
        try:
            column = read_source(table, [name], name="table").columns[name]
        except (DataError, UnreadableError):
            # A column that nobody can read, and that no schema can therefore name.
            continue
        sink = pa.BufferOutputStream()
        plain = pa.table({name: column}).combine_chunks()
        with pa.ipc.new_stream(sink, plain.schema) as writer:
            writer.write_table(plain)
        found.update(sink.getvalue())
