"""Simulated data on disk: one Parquet file per table and the schema beside them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kinfolk._io import new_file
from kinfolk.data.simulate.stream import simulate
from kinfolk.datasets import schema_text
from kinfolk.errors import KinfolkError

SCHEMA_FILE = "schema.yaml"


def write_simulation(
    name: str,
    directory: str | os.PathLike[str],
    *,
    groups: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Write `<table>.parquet` for both tables, and `schema.yaml`, into a directory.

    Memory does not grow with `groups`. Each file appears under its name only when all are complete:
    an interrupted run leaves what was there before. `progress` is called with the groups written so
    far. Returns the name, the seed, the paths by table (and `schema`), and the rows by table.
    """
    chunks = simulate(name, groups=groups, seed=seed)
    text = schema_text(name)
    target = Path(directory)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with ExitStack() as files:
            rows, paths = _write_tables(target, files, chunks, progress)
            paths["schema"] = target / SCHEMA_FILE
            files.enter_context(new_file(paths["schema"])).write(text.encode())
    except OSError as error:
        raise KinfolkError(
            f"simulate: cannot write to {target}: {error.strerror or error}. "
            "Choose a directory you can write to, with room for the data."
        ) from error
    return {"name": name, "seed": int(seed), "paths": paths, "rows": rows}


def _write_tables(
    target: Path,
    files: ExitStack,
    chunks: Iterator[dict[str, pa.Table]],
    progress: Callable[[int], None] | None,
) -> tuple[dict[str, int], dict[str, Path]]:
    """Stream every chunk to its file; the rows and the path of each table.

    The files get their names when `files` ends well, and are removed if not.
    """
    writers: dict[str, pq.ParquetWriter] = {}
    rows: dict[str, int] = {}
    with ExitStack() as open_writers:
        for chunk in chunks:
            for table, data in chunk.items():
                if table not in writers:
                    file = files.enter_context(new_file(target / f"{table}.parquet"))
                    writer = pq.ParquetWriter(file, data.schema)
                    writers[table] = open_writers.enter_context(writer)
                writers[table].write_table(data)
                rows[table] = rows.get(table, 0) + data.num_rows
            if progress is not None:
                # The first table of a chunk holds the groups.
                progress(next(iter(rows.values())))
    return rows, {table: target / f"{table}.parquet" for table in rows}
