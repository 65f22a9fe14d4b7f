"""Simulated data on disk: one Parquet file per table and the schema beside them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

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
        with _staging(target) as stage:
            rows, paths = _write_tables(stage, chunks, progress)
            stage.path(SCHEMA_FILE).write_text(text, encoding="utf-8")
            paths["schema"] = target / SCHEMA_FILE
    except OSError as error:
        raise KinfolkError(
            f"simulate: cannot write to {target}: {error.strerror or error}. "
            "Choose a directory you can write to, with room for the data."
        ) from error
    return {"name": name, "seed": int(seed), "paths": paths, "rows": rows}


@dataclass(frozen=True)
class _Stage:
    """Files under temporary names in a directory, until all of them are complete."""

    directory: Path
    files: dict[str, Path] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """Where to write the file that will be called `name`."""
        return self.files.setdefault(name, self.directory / f".{name}.{os.getpid()}.partial")


@contextmanager
def _staging(directory: Path) -> Iterator[_Stage]:
    """Give every staged file its name if the block ends well, and remove them all if not."""
    stage = _Stage(directory)
    try:
        yield stage
        for name, partial in stage.files.items():
            partial.replace(directory / name)
    finally:
        # Also on Ctrl-C, which is not an Exception.
        for partial in stage.files.values():
            partial.unlink(missing_ok=True)


def _write_tables(
    stage: _Stage,
    chunks: Iterator[dict[str, pa.Table]],
    progress: Callable[[int], None] | None,
) -> tuple[dict[str, int], dict[str, Path]]:
    """Stream every chunk to its file; the rows and the final path of each table."""
    writers: dict[str, pq.ParquetWriter] = {}
    rows: dict[str, int] = {}
    with ExitStack() as open_files:
        for chunk in chunks:
            for table, data in chunk.items():
                if table not in writers:
                    writer = pq.ParquetWriter(stage.path(f"{table}.parquet"), data.schema)
                    writers[table] = open_files.enter_context(writer)
                writers[table].write_table(data)
                rows[table] = rows.get(table, 0) + data.num_rows
            if progress is not None:
                # The first table of a chunk holds the groups.
                progress(next(iter(rows.values())))
    return rows, {table: stage.directory / f"{table}.parquet" for table in rows}
