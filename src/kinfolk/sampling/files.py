"""From a model to linked tables on disk, chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from kinfolk.data.decode import decode
from kinfolk.data.frames import FORMATS
from kinfolk.errors import KinfolkError
from kinfolk.sampling.drawing import Model, check_groups, sample, schema_of
from kinfolk.schema import Schema

Types = Mapping[str, Mapping[str, Any]]

CHUNK = 65_536
"""Groups that are written at a time."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """What was written, by table."""

    paths: Mapping[str, Path]
    rows: Mapping[str, int]


def write_sample(
    model: Model,
    groups: int,
    directory: str | os.PathLike[str],
    *,
    rng: np.random.Generator,
    format: str = "csv",  # noqa: A002  (the name users know from the command line)
    stratified: bool = True,
    progress: Callable[[int], None] | None = None,
    types: Types | None = None,
) -> Written:
    """Draw groups and write the schema's tables, `<table>.csv` or `<table>.parquet`, keys 1 to N.

    Memory does not grow with `groups`. The files appear under their names when all are complete; an
    interrupted run leaves what was there before. `progress` is called with the groups written so
    far. `types` are storage types (Arrow) by table and column, kept where they hold the domain.

    >>> import tempfile
    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.models.histogram import Histogram
    >>> model = Histogram.uniform(load_schema("acs-red"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_sample(model, 100, folder, rng=np.random.default_rng(1))
    ...     print(dict(written.rows), written.paths["persons"].name)
    {'households': 100, 'persons': 292} persons.csv
    """
    check_groups(groups)
    if format not in FORMATS:
        raise KinfolkError(f"format {format!r} is unknown. Use {' or '.join(FORMATS)}.")
    schema, target = schema_of(model), Path(directory)
    kept = _lasting(schema, types or {}, groups)
    chunks = sample(model, groups, rng=rng, chunk=CHUNK, stratified=stratified)
    rows = dict.fromkeys(schema.table_names, 0)
    done = 0
    try:
        target.mkdir(parents=True, exist_ok=True)
        with _files(target, schema.table_names, format) as writers:
            for chunk in chunks:
                tables = decode(replace(chunk, types=kept), rng=rng, first_id=done + 1)
                for name, table in tables.items():
                    writers[name].write(table)
                    rows[name] += table.num_rows
                done += chunk.groups
                if progress is not None:
                    progress(done)
    except OSError as error:
        raise KinfolkError(
            f"the sample cannot be written to {target}: {error.strerror or error}. "
            "Choose a directory you can write to, with room for the data."
        ) from error
    paths = {name: target / f"{name}.{format}" for name in schema.table_names}
    return Written(paths=paths, rows=rows)


class _Writer:
    """One table, written chunk by chunk under a temporary name."""

    def __init__(self, path: Path, format_: str, open_files: ExitStack) -> None:
        self.path, self._format, self._open_files = path, format_, open_files
        self._file: Any = None

    def write(self, table: pa.Table) -> None:
        if self._format == "csv":
            # Arrow cannot write dictionaries as CSV; the values themselves are meant.
            plain = [
                c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table
            ]
            table = pa.table(plain, names=table.column_names)
        if self._file is None:
            maker = pacsv.CSVWriter if self._format == "csv" else pq.ParquetWriter
            self._file = self._open_files.enter_context(maker(self.path, table.schema))
        self._file.write_table(table)


@contextmanager
def _files(directory: Path, tables: tuple[str, ...], format_: str) -> Iterator[dict[str, _Writer]]:
    """Writers for all tables; the files get their names if the block ends well."""
    partial = {name: directory / f".{name}.{format_}.{os.getpid()}.partial" for name in tables}
    try:
        with ExitStack() as open_files:
            yield {name: _Writer(path, format_, open_files) for name, path in partial.items()}
        for name, path in partial.items():
            path.replace(directory / f"{name}.{format_}")
    finally:
        # Also on Ctrl-C, which is not an Exception.
        for path in partial.values():
            path.unlink(missing_ok=True)


def _lasting(schema: Schema, types: Types, groups: int) -> dict[str, dict[str, Any]]:
    """The types without those of keys that could not hold the last one.

    Otherwise the key's type would change where the numbers outgrow it, in the middle of a file.
    """
    kept = {table: dict(columns) for table, columns in types.items()}
    keys = {schema.individual.table: schema.individual.group_id or ""}
    if schema.group is not None:
        keys[schema.group.table] = schema.group.id
    for table, column in keys.items():
        stored = kept.get(table, {}).get(column)
        if stored is None:
            continue
        try:
            fits = pa.array([groups], pa.int64()).cast(stored).cast(pa.int64())[0].as_py() == groups
        except pa.ArrowException:
            fits = False
        if not fits:
            del kept[table][column]
    return kept
