"""What a Spark executor does with its partition: the counting in memory, chunk by chunk.

Only plain values travel to the executors, and only counts and messages come back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kinfolk.data.encode import encode_sources, home_columns, people_columns
from kinfolk.data.encoded import Cleaning
from kinfolk.data.tables import Source
from kinfolk.errors import DataError, redacted
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Schema

CHUNK = 200_000
"""Rows that a task encodes at a time, as long as one group does not have more."""
RESULT = "cell long, count long, problem string"
"""What a task gives back: how often each cell was filled, and what is wrong with the data."""
TOTALS = ("groups", "people", *vars(Cleaning()))
"""What else is added up, in cells below zero: -1, -2 and so on."""


def wanted_columns(schema: Schema) -> dict[str, list[str]]:
    """The columns of each table that matter, the group's id first; the group table first."""
    people = {schema.individual.table: people_columns(schema)}
    return {schema.group.table: home_columns(schema), **people} if schema.group else people


@dataclass(frozen=True, kw_only=True)
class Task:
    """Counts the rows of a partition, which are sorted by key, kind and row."""

    schema: str
    """As YAML."""
    marginals: tuple[Marginal, ...]
    weights: npt.NDArray[np.int64] | None
    redact: bool = False
    """Whether messages hide what is in the data, as they do where the task was made."""

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count whole groups, as many at a time as fit a chunk."""
        from pyspark import TaskContext

        context = TaskContext.get()
        threads = context.cpus() if context is not None else 1
        numba.set_num_threads(max(1, min(threads, numba.config.NUMBA_NUM_THREADS)))
        schema = Schema.from_text(self.schema)
        counter = Counter(Workload(schema=schema, marginals=self.marginals), weights=self.weights)
        rest = iter(batches)
        for rows in _whole_groups(rest):
            try:
                with redacted(self.redact):
                    data = encode_sources(schema, *_sources(schema, rows), [], part=True)
                counter.add(data)
            except DataError as error:
                for _ in rest:
                    pass
                texts = [json.dumps(vars(problem)) for problem in error.problems]
                yield _result([-1 - len(TOTALS)] * len(texts), [0] * len(texts), texts)
                return
        filled = np.flatnonzero(counter.counts)
        totals = {"groups": counter.groups, "people": counter.people, **vars(counter.cleaning)}
        yield _result(range(-1, -1 - len(TOTALS), -1), [totals[name] for name in TOTALS])
        for start in range(0, len(filled), CHUNK):
            cells = filled[start : start + CHUNK]
            yield _result(cells, counter.counts[cells])


def _result(cells: Any, counts: Any, problems: list[str] | None = None) -> pa.RecordBatch:
    texts = [None] * len(cells) if problems is None else problems
    columns = [
        pa.array(cells, pa.int64()),
        pa.array(counts, pa.int64()),
        pa.array(texts, pa.string()),
    ]
    return pa.record_batch(columns, names=["cell", "count", "problem"])


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


def _sources(schema: Schema, rows: pa.Table) -> tuple[Source | None, Source]:
    """The rows of each kind as a table of its own."""
    found: list[Source] = []
    for kind, (name, wanted) in enumerate(wanted_columns(schema).items()):
        table = rows.filter(pc.equal(rows.column("kind"), kind))
        columns = {column: table.column(f"{kind}_{i}") for i, column in enumerate(wanted)}
        found.append(
            Source(
                name=name,
                columns=columns,
                rows=table.num_rows,
                untyped=False,
                numbers=table.column("row").to_numpy(),
                named_by=wanted[0] if schema.group is not None else None,
            )
        )
    return found[0] if schema.group is not None else None, found[-1]
