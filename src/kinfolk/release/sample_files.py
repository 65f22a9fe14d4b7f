"""Tables on disk: drawn from a model, chunk by chunk, and stored as the columns of the data are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from kinfolk._io import local_path, new_file
from kinfolk.data.decode import Types, decode
from kinfolk.data.frames import FORMATS, without_dictionaries
from kinfolk.data.shapes import Shapes
from kinfolk.data.stat_files import PROGRAMS, StatWriter, check_writable
from kinfolk.errors import KinfolkError
from kinfolk.models.base import Model, check_groups
from kinfolk.models.records import Acceptance, Records, Search
from kinfolk.release.file import file_digest
from kinfolk.schema import Schema
from kinfolk.schema.where import Where

CHUNK = 65_536
"""Groups that are written at a time."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """What was written, by table."""

    paths: Mapping[str, Path]
    rows: Mapping[str, int]
    acceptance: Acceptance = field(default_factory=Acceptance)
    """How often groups kept the rules when they were first drawn."""
    search: Search = field(default_factory=Search)
    """How many groups were looked at, where only some were wanted."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of every file, by its name below the directory."""


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
    shapes: Shapes | None = None,
    where: Where | None = None,
) -> Written:
    """Draw groups and write the schema's tables, `<table>.csv` or another format, keys 1 to N.

    Memory does not grow with `groups`, except for dta and sav, which are put together first. The
    files appear under their names when all are complete; an interrupted run leaves what was there
    before. `progress` is called with the groups written so far, or with those found so far where
    groups that meet a condition (`where`) are searched for. `types` are storage types (Arrow) by
    table and column, kept where they hold the domain.

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
        raise KinfolkError(f"format {format!r} is unknown. Use one of {', '.join(FORMATS)}.")
    schema, target = model.schema, local_path(directory)
    check_writable(schema, format)
    kept = lasting_types(schema, types or {}, groups)
    searching = where is not None and not where.exact
    records = Records(
        model=model,
        shapes=shapes,
        types=kept,
        where=where,
        progress=progress if searching else None,
    )
    chunks = records.draw(groups, rng=rng, chunk=CHUNK, stratified=stratified)
    rows = dict.fromkeys(schema.table_names, 0)
    done = 0
    try:
        target.mkdir(parents=True, exist_ok=True)
        with _files(target, schema, format) as writers:
            for chunk in chunks:
                tables = decode(chunk, rng=rng, first_id=done + 1)
                for name, table in tables.items():
                    writers[name].write(table)
                    rows[name] += table.num_rows
                done += chunk.groups
                if progress is not None and not searching:
                    progress(done)
    except OSError as error:
        raise KinfolkError(
            f"the sample cannot be written to {target}: {error.strerror or error}. "
            "Choose a directory you can write to, with room for the data."
        ) from error
    paths = {name: target / f"{name}.{format}" for name in schema.table_names}
    return Written(
        paths=paths,
        rows=rows,
        acceptance=records.acceptance,
        search=records.search,
        digests={path.name: file_digest(path) for path in paths.values()},
    )


class _Writer:
    """One table, written chunk by chunk."""

    def __init__(
        self, file: BinaryIO, format_: str, schema: Schema, table: str, writers: ExitStack
    ) -> None:
        self._file, self._format, self._writers = file, format_, writers
        self._schema, self._table = schema, table
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        if self._format == "csv":
            table = without_dictionaries(table)
        if self._writer is None:
            self._writer = self._writers.enter_context(self._open(table.schema))
        self._writer.write_table(table)

    def _open(self, stored: pa.Schema) -> Any:
        if self._format in PROGRAMS:
            return StatWriter(self._file, self._format, self._schema, self._table)
        maker = pacsv.CSVWriter if self._format == "csv" else pq.ParquetWriter
        return maker(self._file, stored)


@contextmanager
def _files(directory: Path, schema: Schema, format_: str) -> Iterator[dict[str, _Writer]]:
    """Writers for all tables; the files get their names if the block ends well."""
    # The writers end before any file gets its name.
    with ExitStack() as files, ExitStack() as writers:
        opened = {
            name: files.enter_context(new_file(directory / f"{name}.{format_}"))
            for name in schema.table_names
        }
        yield {name: _Writer(file, format_, schema, name, writers) for name, file in opened.items()}


def lasting_types(schema: Schema, types: Types, groups: int) -> dict[str, dict[str, Any]]:
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
