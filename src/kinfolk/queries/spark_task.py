"""What a task of Spark does with the rows of a partition: check, encode and count whole groups."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kinfolk.data.encode import encode_sources
from kinfolk.data.encoded import Cleaning, Encoded
from kinfolk.data.spark_session import own_threads
from kinfolk.data.tables import Source, TableFile
from kinfolk.data.undeclared import seem_computed
from kinfolk.errors import DataError, redacted
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Schema

CHUNK = 200_000
"""Rows that a task encodes at a time, as long as one group does not have more."""
RESULT = "cell long, count long, text string"
"""What a task gives back: how often each cell was filled; or what is wrong with the data."""
TOTALS = ("groups", "people", *vars(Cleaning()))
"""What else is added up, in cells below zero: -1, -2 and so on; the groups against rules follow."""


@dataclass(frozen=True, kw_only=True)
class PartReader:
    """Encodes rows of a partition, which are sorted by key, kind and row."""

    schema: str
    """As YAML."""
    names: tuple[str, ...]
    """What messages call the tables."""
    untyped: tuple[bool, ...]
    """Whether their cells are plain text."""

    def encode(self, schema: Schema, rows: pa.Table, *, finely: bool = False) -> Encoded:
        """Check and encode whole groups."""
        sources = self._sources(schema, rows)
        homes = sources[0] if schema.group is not None else None
        return encode_sources(schema, homes, sources[-1], [], part=True, finely=finely)

    def seem_computed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Names and formulas of group attributes that look computed, of all rows together."""
        schema = Schema.from_text(self.schema)
        held = [pa.Table.from_batches([batch]) for batch in batches]
        found: list[tuple[str, str]] = []
        if held:
            try:
                found = seem_computed(schema, self.encode(schema, pa.concat_tables(held)))
            except DataError:
                # What is wrong with the tables is said where they are counted.
                found = []
        columns = [pa.array([one[at] for one in found], pa.string()) for at in range(2)]
        yield pa.record_batch(columns, names=["name", "formula"])

    def _sources(self, schema: Schema, rows: pa.Table) -> list[Source]:
        """The rows of each kind as a table of its own."""
        found: list[Source] = []
        for kind, wanted in enumerate(schema.columns.values()):
            table = rows.filter(pc.equal(rows.column("kind"), kind))
            columns = {column: table.column(f"{kind}_{i}") for i, column in enumerate(wanted)}
            found.append(
                Source(
                    name=self.names[kind],
                    columns=columns,
                    rows=table.num_rows,
                    untyped=self.untyped[kind],
                    numbers=table.column("row").to_numpy(),
                    named_by=next(iter(wanted)) if schema.group is not None else None,
                )
            )
        return found


@dataclass(frozen=True, kw_only=True)
class CountTask:
    """Counts the rows of a partition."""

    part: PartReader
    marginals: tuple[Marginal, ...]
    weights: npt.NDArray[np.int64] | None
    redact: bool = False
    """Whether messages hide what is in the data, as they do where the task was made."""

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count whole groups, as many at a time as fit a chunk."""
        own_threads()
        schema = Schema.from_text(self.part.schema)
        workload = Workload(schema=schema, marginals=self.marginals)
        counter = Counter(workload, weights=self.weights)
        rest = iter(batches)
        for rows in _whole_groups(rest):
            try:
                with redacted(self.redact):
                    counter.add(self.part.encode(schema, rows, finely=workload.finely))
            except DataError as error:
                for _ in rest:
                    pass
                texts = [json.dumps(vars(problem)) for problem in error.problems]
                yield _result([0] * len(texts), [0] * len(texts), texts)
                return
        totals = {"groups": counter.groups, "people": counter.people, **vars(counter.cleaning)}
        sums = [*(totals[name] for name in TOTALS), *counter.against.tolist()]
        yield _result(range(-1, -1 - len(sums), -1), sums)
        filled = np.flatnonzero(counter.counts)
        for start in range(0, len(filled), CHUNK):
            cells = filled[start : start + CHUNK]
            yield _result(cells, counter.counts[cells])


def digest_file(batches: Iterable[pa.RecordBatch], path: str) -> Iterator[pa.RecordBatch]:
    """The SHA-256 of a file, or of the Parquet files in a folder; blank where there is none."""
    for _ in batches:
        where = Path(path)
        known = where.is_file() or any(where.rglob("*.parquet"))
        digests = [TableFile(where).digest() if known else None]
        yield pa.record_batch([pa.array(digests, pa.binary())], names=["digest"])


def _result(cells: Any, counts: Any, texts: Sequence[str | None] = ()) -> pa.RecordBatch:
    columns = [
        pa.array(cells, pa.int64()),
        pa.array(counts, pa.int64()),
        pa.array(texts or [None] * len(cells), pa.string()),
    ]
    return pa.record_batch(columns, names=["cell", "count", "text"])


def _whole_groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Rows sorted by key, in chunks that never end within a run of equal keys."""
    held: list[pa.Table] = []
    rows, limit = 0, CHUNK
    for batch in batches:
        held.append(pa.Table.from_batches([batch]))
        rows += batch.num_rows
        if rows < limit:
            continue
        table = pa.concat_tables(held)
        last = table.column("key")[-1]
        # Blank keys come first, so that where the last one is blank, all are.
        start = pc.index(pc.equal(table.column("key"), last), True).as_py() if last.is_valid else 0
        if start > 0:
            yield table.slice(0, start)
        held, rows = [table.slice(max(start, 0))], rows - max(start, 0)
        limit = max(CHUNK, 2 * rows)
    if rows:
        yield pa.concat_tables(held)
