"""Exact answers on Apache Spark, for tables that one machine cannot count.

Both tables are laid out as one, shuffled once so that all of a group is in one partition, and
sorted there. Each task runs the code that counts in memory on one run of groups after the other;
the counts are added up on the executors, and only the sums come back. No row is ever collected.
Only plain values travel to the executors.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kinfolk._io import address
from kinfolk.data.clean import nobody_left
from kinfolk.data.encode import (
    HEADING,
    check_table_names,
    encode_sources,
    missing_columns,
    people_columns,
)
from kinfolk.data.encoded import Cleaning
from kinfolk.data.tables import Source
from kinfolk.errors import DataError, KinfolkError, Problem, private, redacted, redacting
from kinfolk.queries.counting import Counter
from kinfolk.queries.streaming import wanted_columns
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

CHUNK = 200_000
"""Rows that a task encodes at a time, as long as one group does not have more."""
RESULT = "cell long, count long, problem string"
"""What a task gives back: how often each cell was filled, and what is wrong with the data."""
TOTALS = ("groups", "people", *vars(Cleaning()))
"""What else is added up, in cells below zero: -1, -2 and so on."""


def count_spark(
    workload: Workload,
    tables: Mapping[str, DataFrame | str | Path],
    *,
    weights: npt.NDArray[np.int64] | None = None,
    partitions: int | None = None,
) -> Counter:
    """Count Spark DataFrames, or Parquet files that Spark can read, by the schema's table names.

    The result equals that of counting in memory, number by number. `partitions` is how many pieces
    the data is shuffled into; by default Spark decides. Under `oversize: first`, the first members
    of a group are those that Spark reads first. kinfolk must be installed on the executors.
    """
    _need_pyspark()
    schema = workload.schema
    check_table_names(schema, tables)
    wrong = isinstance(partitions, bool) or not isinstance(partitions, int | None)
    if wrong or (partitions is not None and partitions < 1):
        raise KinfolkError(f"partitions is {partitions!r}. Give a whole number of at least 1.")
    counter = Counter(workload, weights=weights)
    frames = {name: _frame(name, tables[name]) for name in schema.table_names}
    _check_columns(schema, frames)
    result = _collect(_cells(workload, frames, weights, partitions))
    problems = _problems(result)
    if problems:
        raise DataError(f"{HEADING} (only part of the rows was checked)", problems)
    cells, counts = (result.column(name).to_numpy() for name in ("cell", "count"))
    counter.counts[cells[cells >= 0]] = counts[cells >= 0]
    totals = {name: int(counts[cells == -1 - i].sum()) for i, name in enumerate(TOTALS)}
    counter.groups, counter.people = totals.pop("groups"), totals.pop("people")
    counter.cleaning = Cleaning(**totals)
    if not counter.groups:
        raise DataError(HEADING, _nobody(schema, counter.cleaning))
    return counter


def _nobody(schema: Schema, cleaning: Cleaning) -> list[Problem]:
    """Why there is nobody to count."""
    name = schema.individual.table
    if not cleaning.people_read:
        nothing = dict.fromkeys(people_columns(schema), pa.chunked_array([], pa.null()))
        return missing_columns(
            Source(name=name, columns=nothing, rows=0, untyped=False), [*nothing]
        )
    return [nobody_left(schema, name, cleaning)]


def _need_pyspark() -> None:
    try:
        # PySpark insists on pandas for anything that touches Arrow.
        import pandas  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        raise KinfolkError(
            f"counting on Spark needs {error.name}, which is not installed. "
            "Run: pip install 'kinfolk[spark]'"
        ) from None


def _frame(name: str, table: DataFrame | str | Path) -> DataFrame:
    """A DataFrame as it is, or Parquet by its path."""
    from pyspark.errors import AnalysisException

    if isinstance(table, str | Path):
        try:
            return _session().read.parquet(address(table))
        except AnalysisException as error:
            reason = private(str(error).split("\n")[0])
            raise KinfolkError(
                f"{name}: Spark cannot read {address(table)} as Parquet ({reason}). "
                "Check the path; read other formats with Spark and pass the DataFrame."
            ) from None
    if not hasattr(table, "mapInArrow"):
        raise KinfolkError(
            f"{name}: {type(table).__name__} is no Spark DataFrame. Pass one, or a path to "
            "Parquet; tables in memory are counted by kinfolk.queries.counting.count."
        )
    return table


def _session() -> SparkSession:
    """The session there is, or a new one."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    # Workers of a local session must run this Python, not whichever comes first on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        return SparkSession.builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise KinfolkError(
            f"Spark does not start ({str(error).splitlines()[0]}). It needs Java 17 or later: "
            "install one, such as openjdk-17-jre-headless, or set JAVA_HOME to where it is."
        ) from None


def _check_columns(schema: Schema, frames: Mapping[str, DataFrame]) -> None:
    problems: list[Problem] = []
    for name, wanted in wanted_columns(schema).items():
        names = frames[name].columns
        twice = [column for column in wanted if names.count(column) > 1]
        for column in twice:
            what = f"{private(names.count(column))} columns are called so."
            place = f"{name}, column {column}"
            problems.append(Problem(where=place, what=what, fix="Rename or drop all but one."))
        columns = {column: pa.chunked_array([], pa.null()) for column in names}
        source = Source(name=name, columns=columns, rows=1, untyped=False, names=tuple(names))
        problems += missing_columns(source, wanted)
    if problems:
        raise DataError(HEADING, problems)


def _cells(
    workload: Workload,
    frames: Mapping[str, DataFrame],
    weights: npt.NDArray[np.int64] | None,
    partitions: int | None,
) -> DataFrame:
    """The counts of all tasks, added up by cell."""
    from pyspark.sql import functions

    schema = workload.schema
    task = Task(
        schema=schema.to_yaml(), marginals=workload.marginals, weights=weights, redact=redacting()
    )
    rows = _wide(schema, frames)
    if schema.group is not None:
        by = ("key",) if partitions is None else (partitions, "key")
        rows = rows.repartition(*by).sortWithinPartitions("key", "kind", "row")
    with warnings.catch_warnings():
        # PySpark asks for an older pandas here; it is not used.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        counted = rows.mapInArrow(lambda batches: task.run(batches), RESULT)
    return counted.groupBy("cell", "problem").agg(functions.sum("count").alias("count"))


def _wide(schema: Schema, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Both tables in one: kind of row, key of the group, place of the row; then all columns."""
    from pyspark.sql import functions

    tables: list[tuple[DataFrame, list[int]]] = []
    for name, wanted in wanted_columns(schema).items():
        frame = frames[name]
        # By position from here on: Spark takes dots and capitals in names for something else.
        plain = frame.toDF(*(f"c{index}" for index in range(len(frame.columns))))
        tables.append((plain, [frame.columns.index(column) for column in wanted]))
    types = [[frame.schema[i].dataType for i in chosen] for frame, chosen in tables]
    kinds: list[DataFrame] = []
    for kind, (frame, chosen) in enumerate(tables):
        row = functions.monotonically_increasing_id()
        key = row if len(tables) == 1 else _key(frame[f"c{chosen[0]}"], [t[0] for t in types])
        columns = [
            frame[f"c{chosen[i]}"] if other == kind else functions.lit(None).cast(dtype)
            for other, found in enumerate(types)
            for i, dtype in enumerate(found)
        ]
        labels = [f"{other}_{i}" for other, found in enumerate(types) for i in range(len(found))]
        first = [functions.lit(kind).alias("kind"), key.alias("key"), row.alias("row")]
        named = [column.alias(label) for column, label in zip(columns, labels, strict=True)]
        kinds.append(frame.select(*first, *named))
    return kinds[0] if len(kinds) == 1 else kinds[0].union(kinds[1])


def _key(ids: Column, types: list[Any]) -> Column:
    """What rows are brought together by: ids that are equal have equal keys."""
    from pyspark.sql import types as spark_types

    if all(isinstance(dtype, spark_types.IntegralType) for dtype in types):
        return ids.cast("long")
    if all(isinstance(dtype, spark_types.NumericType) for dtype in types):
        # Minus zero is zero.
        return ids.cast("double") + 0.0
    return ids if types[0] == types[1] else ids.cast("string")


def _collect(frame: DataFrame) -> pa.Table:
    from pyspark.errors import PythonException

    try:
        return frame.toArrow()
    except PythonException as error:
        if "No module named 'kinfolk" not in str(error):
            raise
        raise KinfolkError(
            "the Python of Spark's executors has no kinfolk. Install it there, and let "
            "spark.pyspark.python name that Python."
        ) from None


def _problems(result: pa.Table) -> list[Problem]:
    """One of each: tasks find the same thing wrong with different groups."""
    texts = sorted(pc.drop_null(pc.unique(result.column("problem"))).to_pylist())
    found: dict[tuple[str, ...], Problem] = {}
    for text in texts:
        problem = Problem(**json.loads(text))
        table = problem.where.split(", ")[0]
        column = re.split(r", (?=column |never\[)", problem.where)[-1]
        found.setdefault((table, column, problem.fix), problem)
    return list(found.values())


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
        workload = Workload(schema=schema, marginals=self.marginals)
        counter = Counter(workload, weights=self.weights)
        rest = iter(batches)
        for rows in _whole_groups(rest):
            try:
                with redacted(self.redact):
                    data = encode_sources(
                        schema, *_sources(schema, rows), [], part=True, finely=workload.finely
                    )
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
