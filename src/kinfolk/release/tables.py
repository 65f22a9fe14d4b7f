"""Tables on disk: drawn from a model, chunk by chunk, and stored as the columns of the data are.

Nothing here looks at a row of data. A storage type that could tell whether a blank occurs is not
kept: data frames turn whole numbers into fractions where one is blank.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from kinfolk._io import new_file
from kinfolk.data.columns import column_kind
from kinfolk.data.decode import decode
from kinfolk.data.frames import FORMATS, without_dictionaries
from kinfolk.data.shapes import Shapes
from kinfolk.data.tables import TableLike, file_kind
from kinfolk.errors import KinfolkError
from kinfolk.models.base import Model, check_groups
from kinfolk.models.records import Acceptance, Records
from kinfolk.schema import Schema

Types = Mapping[str, Mapping[str, Any]]
"""Storage types (Arrow) by table and column."""

CHUNK = 65_536
"""Groups that are written at a time."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """What was written, by table."""

    paths: Mapping[str, Path]
    rows: Mapping[str, int]
    acceptance: Acceptance = field(default_factory=Acceptance)
    """How often groups kept the rules when they were first drawn."""


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
    schema, target = model.schema, Path(directory)
    kept = _lasting(schema, types or {}, groups)
    records = Records(model=model, shapes=shapes, types=kept)
    chunks = records.draw(groups, rng=rng, chunk=CHUNK, stratified=stratified)
    rows = dict.fromkeys(schema.table_names, 0)
    done = 0
    try:
        target.mkdir(parents=True, exist_ok=True)
        with _files(target, schema.table_names, format) as writers:
            for chunk in chunks:
                tables = decode(chunk, rng=rng, first_id=done + 1)
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
    return Written(paths=paths, rows=rows, acceptance=records.acceptance)


class _Writer:
    """One table, written chunk by chunk."""

    def __init__(self, file: BinaryIO, format_: str, writers: ExitStack) -> None:
        self._file, self._format, self._writers = file, format_, writers
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        if self._format == "csv":
            table = without_dictionaries(table)
        if self._writer is None:
            maker = pacsv.CSVWriter if self._format == "csv" else pq.ParquetWriter
            self._writer = self._writers.enter_context(maker(self._file, table.schema))
        self._writer.write_table(table)


@contextmanager
def _files(directory: Path, tables: tuple[str, ...], format_: str) -> Iterator[dict[str, _Writer]]:
    """Writers for all tables; the files get their names if the block ends well."""
    # The writers end before any file gets its name.
    with ExitStack() as files, ExitStack() as writers:
        opened = {
            name: files.enter_context(new_file(directory / f"{name}.{format_}")) for name in tables
        }
        yield {name: _Writer(file, format_, writers) for name, file in opened.items()}


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


def _plain() -> Iterator[pa.DataType]:
    yield from (pa.int8(), pa.int16(), pa.int32(), pa.int64())
    yield from (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    yield from (pa.float32(), pa.float64(), pa.bool_())
    yield from (pa.string(), pa.large_string(), pa.string_view())


def _known() -> dict[str, pa.DataType]:
    plain = list(_plain())
    whole = [dtype for dtype in plain if pa.types.is_integer(dtype)]
    listed = [
        pa.dictionary(index, value, ordered)
        for index in whole
        for value in plain
        for ordered in (False, True)
    ]
    return {str(dtype): dtype for dtype in [*plain, *listed]}


_KNOWN = _known()
"""By name: the only types that a model file can ask for."""


def column_types(schema: Schema, tables: Mapping[str, TableLike]) -> dict[str, dict[str, Any]]:
    """The storage types of the schema's columns; CSV files have none.

    >>> schema = Schema.from_text('''
    ... individual: {table: people, attributes: {sex: {values: [1, 2]}}}
    ... max_size: 1
    ... ''')
    >>> column_types(schema, {"people": pa.table({"sex": pa.array([1], pa.int8()), "other": [0]})})
    {'people': {'sex': DataType(int8)}}
    """
    wanted = {table: dict(columns) for table, columns in _columns(schema).items()}
    return {
        table: {
            name: dtype
            for name, dtype in _stored(tables[table], list(columns)).items()
            if name in columns and str(dtype) in _KNOWN and _lasts(dtype, blank=columns[name])
        }
        for table, columns in wanted.items()
    }


def types_to_json(types: Types) -> dict[str, dict[str, str]]:
    """The types by name."""
    return {
        table: {name: str(dtype) for name, dtype in columns.items()}
        for table, columns in types.items()
    }


def types_from_json(described: object, schema: Schema) -> dict[str, dict[str, Any]]:
    """The types that `types_to_json` named; anything else is refused."""
    known = _columns(schema)
    if not isinstance(described, dict) or not set(described) <= set(known):
        raise KinfolkError("its storage types are not those of the schema's tables.")
    found: dict[str, dict[str, Any]] = {}
    for table, columns in described.items():
        if not isinstance(columns, dict) or not set(columns) <= set(known[table]):
            raise KinfolkError(f"its storage types are not those of the columns of {table}.")
        if not all(isinstance(name, str) and name in _KNOWN for name in columns.values()):
            raise KinfolkError(f"it names a storage type of {table} that is unknown.")
        found[table] = {column: _KNOWN[name] for column, name in columns.items()}
    return found


def _columns(schema: Schema) -> dict[str, dict[str, bool]]:
    """The columns of each table, and whether a cell may be blank."""
    own = {name: attribute.missing for name, attribute in schema.individual_attributes.items()}
    if schema.individual.group_id is not None:
        own[schema.individual.group_id] = False
    if schema.roles is not None:
        own[schema.roles.column] = schema.roles.others == "keep"
    found = {schema.individual.table: own}
    if schema.group is not None:
        attributes = {name: a.missing for name, a in schema.group_attributes.items()}
        found = {schema.group.table: {schema.group.id: False, **attributes}, **found}
    return found


def _lasts(dtype: pa.DataType, *, blank: bool) -> bool:
    """Whether a type says nothing about blanks."""
    return not blank or column_kind(dtype) == "text"


def _stored(table: TableLike, columns: list[str]) -> dict[str, pa.DataType]:
    """The storage types of some columns of a file or frame."""
    if isinstance(table, str | Path):
        kind = file_kind(Path(table))
        if kind == "csv":
            return {}
        if kind == "parquet":
            schema = pq.ParquetDataset(table).schema
        else:
            with pa.OSFile(str(table)) as file, ipc.open_file(file) as reader:
                schema = reader.schema
    elif isinstance(table, pa.Table | pa.RecordBatch):
        schema = table.schema
    else:
        frame = nw.from_native(table).lazy()
        present = [name for name in columns if name in frame.collect_schema().names()]
        schema = frame.select(present).head(0).collect("pyarrow").to_arrow().schema
    return dict(zip(schema.names, schema.types, strict=True))
