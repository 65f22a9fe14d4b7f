"""Exact answers on Apache Spark, for tables that one machine cannot count.

Both tables are laid out as one, shuffled once so that all of a group is in one partition, and
sorted there. Each task runs the code that counts in memory on one run of groups after the other;
the counts are added up on the executors, and only the sums come back. No row is ever collected.
Only plain values travel to the executors.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kinfolk._io import address, local_path
from kinfolk.data.csv_files import separator_in
from kinfolk.data.encode import HEADING, check_table_names, missing_columns, swapped
from kinfolk.data.encoded import Cleaning
from kinfolk.data.membership import nobody_left
from kinfolk.data.spark_file import SparkFile
from kinfolk.data.spark_session import (
    arrow_type,
    collected,
    is_spark,
    mapped,
    need_pyspark,
    row_count,
    spark_session,
)
from kinfolk.data.tables import Source, keyed_digest
from kinfolk.data.undeclared import GROUPS
from kinfolk.errors import DataError, KinfolkError, Problem, private, redacting
from kinfolk.queries.counting import Counter
from kinfolk.queries.spark_task import RESULT, TOTALS, CountTask, PartReader, digest_file
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
"""Endings of paths that are no Parquet."""


def count_spark(
    workload: Workload,
    tables: Mapping[str, DataFrame | str | Path],
    *,
    weights: npt.NDArray[np.int64] | None = None,
    partitions: int | None = None,
) -> Counter:
    """Count Spark DataFrames, or Parquet and CSV that Spark can read, by the schema's table names.

    The result equals that of counting in memory, number by number. `partitions` is how many pieces
    the data is shuffled into; by default Spark decides. Under `oversize: first`, the first members
    of a group are those that Spark reads first. kinfolk must be installed on the executors.
    """
    return SparkTables.of(workload.schema, tables).count(
        workload, weights=weights, partitions=partitions
    )


@dataclass(frozen=True, kw_only=True)
class SparkTable:
    """A table that Spark reads."""

    name: str
    """What messages call it: the last part of its path, or the schema's name."""
    frame: DataFrame
    untyped: bool = False
    """Whether cells are plain text (CSV), so that '3' may stand for the number 3."""
    path: str | None = None
    """Where it is, if it is not somebody's DataFrame."""


@dataclass(frozen=True, kw_only=True)
class SparkTables:
    """The tables of a schema, groups first; they have all the columns that it names."""

    schema: Schema
    tables: tuple[SparkTable, ...]

    @classmethod
    def of(cls, schema: Schema, tables: Mapping[str, DataFrame | str | Path]) -> SparkTables:
        """Find the tables; no row is read yet."""
        need_pyspark()
        check_table_names(schema, tables)
        found = tuple(_table(name, tables[name]) for name in schema.table_names)
        _check_columns(schema, found)
        return cls(schema=schema, tables=found)

    def count(
        self,
        workload: Workload,
        *,
        weights: npt.NDArray[np.int64] | None = None,
        partitions: int | None = None,
    ) -> Counter:
        """Count them; see `count_spark`."""
        wrong = isinstance(partitions, bool) or not isinstance(partitions, int | None)
        if wrong or (partitions is not None and partitions < 1):
            raise KinfolkError(f"partitions is {partitions!r}. Give a whole number of at least 1.")
        counter = Counter(workload, weights=weights)
        result = collected(self.cells(workload, weights, partitions), "counts the tables")
        problems = _problems(result)
        if problems:
            raise DataError(f"{HEADING} (only part of the rows was checked)", problems)
        cells, counts = (result.column(name).to_numpy() for name in ("cell", "count"))
        counter.counts[cells[cells >= 0]] = counts[cells >= 0]
        sums = np.zeros(len(TOTALS) + len(counter.against), np.int64)
        sums[-1 - cells[cells < 0]] = counts[cells < 0]
        totals = dict(zip(TOTALS, sums.tolist(), strict=False))
        counter.groups, counter.people = totals.pop("groups"), totals.pop("people")
        counter.cleaning = Cleaning(**totals)
        counter.against += sums[len(TOTALS) :]
        if not counter.groups:
            raise DataError(HEADING, self._nobody(counter.cleaning))
        return counter

    def cells(
        self,
        workload: Workload,
        weights: npt.NDArray[np.int64] | None,
        partitions: int | None,
    ) -> DataFrame:
        """The counts of all tasks, added up by cell."""
        from pyspark.sql import functions

        task = CountTask(
            part=self._part,
            marginals=workload.marginals,
            weights=weights,
            redact=redacting(),
        )
        rows = self._rows()
        if self.schema.group is not None:
            by = ("key",) if partitions is None else (partitions, "key")
            rows = rows.repartition(*by).sortWithinPartitions("key", "kind", "row")
        counted = mapped(rows, lambda batches: task.run(batches), RESULT)
        return counted.groupBy("cell", "text").agg(functions.sum("count").alias("count"))

    def digest(self, keyed: hmac.HMAC) -> str:
        """The keyed digest of the tables, by which a ledger knows its data.

        Files that the executors see as such have the digest that they have on one machine; of other
        tables it is that of the cells of the columns that the schema names, with rows in any order.
        """
        plain = zip(self.schema.table_names, self.tables, self._plain(), strict=True)
        found = {name: _file_digest(table) or _row_digest(rows) for name, table, rows in plain}
        return keyed_digest(found, keyed)

    def files(self) -> dict[str, SparkFile]:
        """The tables by the schema's names, to be read here piece by piece. NOT PRIVATE."""
        wanted = {name: list(columns) for name, columns in self.schema.columns.items()}
        plain = zip(wanted.items(), self.tables, self._plain(), strict=True)
        return {
            name: SparkFile(
                table.name,
                frame,
                columns,
                untyped=table.untyped,
                named_by=columns[0] if self.schema.group is not None else None,
            )
            for (name, columns), table, frame in plain
        }

    def types(self) -> dict[str, pa.Table]:
        """Tables without rows that are stored as these are, by the schema's names."""
        found: dict[str, pa.Table] = {}
        for name, table in zip(self.schema.table_names, self.tables, strict=True):
            own = {field.name: arrow_type(field.dataType) for field in table.frame.schema.fields}
            kept = [] if table.untyped else [(n, one) for n, one in own.items() if one is not None]
            found[name] = pa.schema(kept).empty_table()
        return found

    def seem_computed(self) -> list[tuple[str, str]]:
        """Group attributes that look computed from the members; see `kinfolk.data.undeclared`.

        Looks at about as many groups as on one machine, all of them in one task, which gives back
        names of the schema's attributes and nothing else.
        """
        from pyspark.sql import functions

        if self.schema.group is None:
            return []
        every = -(-row_count(self.tables[0].frame, "counts the groups") // GROUPS)
        rows = self._rows()
        rows = rows.where(functions.pmod(functions.xxhash64("key"), functions.lit(every)) == 0)
        part = self._part
        found = collected(
            mapped(
                rows.repartition(1).sortWithinPartitions("key", "kind", "row"),
                lambda batches: part.seem_computed(batches),
                "name string, formula string",
            ),
            "looks at the groups",
        )
        return [(row["name"], row["formula"]) for row in found.to_pylist()]

    @property
    def _part(self) -> PartReader:
        return PartReader(
            schema=self.schema.to_yaml(),
            names=tuple(table.name for table in self.tables),
            untyped=tuple(table.untyped for table in self.tables),
        )

    def _plain(self) -> list[DataFrame]:
        """The wanted columns of each table, by position: c0 is the group's id.

        By position because Spark takes dots and capitals in names for something else.
        """
        from pyspark.sql import functions

        found: list[DataFrame] = []
        for table, wanted in zip(self.tables, self.schema.columns.values(), strict=True):
            names = table.frame.columns
            plain = table.frame.toDF(*(f"c{index}" for index in range(len(names))))
            cells = [functions.col(f"c{names.index(column)}") for column in wanted]
            if table.untyped:
                # In CSV an empty cell is blank, with or without quotes.
                cells = [functions.nullif(cell, functions.lit("")) for cell in cells]
            found.append(plain.select(*(cell.alias(f"c{i}") for i, cell in enumerate(cells))))
        return found

    def _rows(self) -> DataFrame:
        """Both tables in one: kind of row, key of the group, place of the row; then all columns."""
        from pyspark.sql import functions

        tables = self._plain()
        types = [[field.dataType for field in frame.schema.fields] for frame in tables]
        kinds: list[DataFrame] = []
        for kind, frame in enumerate(tables):
            row = functions.monotonically_increasing_id()
            key = row if len(tables) == 1 else _key(frame["c0"], [own[0] for own in types])
            columns = [
                (frame[f"c{i}"] if other == kind else functions.lit(None).cast(dtype)).alias(
                    f"{other}_{i}"
                )
                for other, own in enumerate(types)
                for i, dtype in enumerate(own)
            ]
            first = [functions.lit(kind).alias("kind"), key.alias("key"), row.alias("row")]
            kinds.append(frame.select(*first, *columns))
        return reduce(lambda one, other: one.union(other), kinds)

    def _nobody(self, cleaning: Cleaning) -> list[Problem]:
        """Why there is nobody to count."""
        name = self.tables[-1].name
        if not cleaning.people_read:
            wanted = self.schema.columns[self.schema.individual.table]
            nothing = dict.fromkeys(wanted, pa.chunked_array([], pa.null()))
            source = Source(name=name, columns=nothing, rows=0, untyped=False)
            return missing_columns(source, [*nothing])
        return [nobody_left(self.schema, name, cleaning)]


def find_spark_tables(schema: Schema, folder: str | Path) -> dict[str, str]:
    """The tables of a folder that Spark reads: `<table>`, `<table>.parquet` or `<table>.csv`."""
    from pyspark.errors import AnalysisException

    session = spark_session()

    def there(path: str) -> bool:
        try:
            session.read.text(path)
        except AnalysisException:
            return False
        return True

    found: dict[str, str] = {}
    for name in schema.table_names:
        start = posixpath.join(address(folder), name)
        paths = [path for ending in ("", ".parquet", *CSV) if there(path := start + ending)]
        if len(paths) != 1:
            seen = " and ".join(paths) or f"neither {start}.parquet nor {start}.csv"
            raise KinfolkError(
                f"Spark finds {seen}. Name a folder that holds each table once, called as in the "
                f"schema ({name})."
            )
        found[name] = paths[0]
    return found


def _table(name: str, table: DataFrame | str | Path) -> SparkTable:
    """A DataFrame as it is, or a path that Spark reads."""
    if isinstance(table, str | Path):
        return _read(name, address(table))
    if not is_spark(table):
        raise KinfolkError(
            f"{name}: {type(table).__name__} is no Spark DataFrame. Pass one, or a path to "
            "Parquet or CSV; tables in memory need no Spark."
        )
    return SparkTable(name=name, frame=table)


def _read(name: str, path: str) -> SparkTable:
    """CSV by its ending, anything else as Parquet."""
    from pyspark.errors import AnalysisException

    session = spark_session()
    kind = "CSV" if path.lower().rstrip("/").endswith(CSV) else "Parquet"
    try:
        if kind == "Parquet":
            frame = session.read.parquet(path)
        else:
            first = session.read.text(path).where("trim(value) != ''").head(1)
            # Lines with too many or too few cells are found only where all cells are looked at.
            frame = session.read.option("columnPruning", False).csv(
                path,
                sep=separator_in(first[0][0] if first else "", path),
                header=True,
                quote='"',
                escape='"',
                multiLine=True,
                inferSchema=False,
                mode="FAILFAST",
            )
    except AnalysisException as error:
        reason = private(str(error).split("\n")[0])
        raise KinfolkError(
            f"{name}: Spark cannot read {path} as {kind} ({reason}). "
            "Check the path; read other formats with Spark and pass the DataFrame."
        ) from None
    called = PurePosixPath(path).name or name
    return SparkTable(name=called, frame=frame, untyped=kind == "CSV", path=path)


def _check_columns(schema: Schema, tables: tuple[SparkTable, ...]) -> None:
    names = [table.frame.columns for table in tables]
    wrong = swapped(schema, *names) if len(tables) == 2 else None
    problems: list[Problem] = [wrong] if wrong else []
    for table, wanted in zip(tables, schema.columns.values(), strict=True):
        if wrong:
            break
        own = table.frame.columns
        for column in (column for column in wanted if own.count(column) > 1):
            what = f"{private(own.count(column))} columns are called so."
            place = f"{table.name}, column {column}"
            problems.append(Problem(where=place, what=what, fix="Rename or drop all but one."))
        columns = {column: pa.chunked_array([], pa.null()) for column in own}
        source = Source(name=table.name, columns=columns, rows=1, untyped=False, names=tuple(own))
        problems += missing_columns(source, wanted)
    if problems:
        raise DataError(HEADING, problems)


def _file_digest(table: SparkTable) -> bytes | None:
    """The SHA-256 of the bytes of files, worked out on an executor; None where it sees no file."""
    read = [] if table.path is None else table.frame.inputFiles()
    if not read or not all(name.startswith("file:") for name in read):
        return None
    path = str(local_path(table.path or "").absolute())
    one = spark_session().range(1).coalesce(1)
    task = mapped(one, lambda batches: digest_file(batches, path), "digest binary")
    found: bytes | None = collected(task, "reads the tables").column("digest")[0].as_py()
    return found


def _row_digest(rows: DataFrame) -> bytes:
    """Every row is hashed on the executors; only sums of these hashes come to the driver."""
    from pyspark.sql import functions

    names = [f"sum{salt}" for salt in range(4)]
    sums = [
        functions.sum(functions.xxhash64(functions.lit(salt), *rows.columns).cast("decimal(38,0)"))
        for salt in range(len(names))
    ]
    totals = rows.agg(functions.count(functions.lit(1)), *sums).toDF("rows", *names)
    found = collected(totals, "reads the tables").to_pylist()[0]
    return hashlib.sha256(str(list(found.values())).encode()).digest()


def _key(ids: Column, types: list[Any]) -> Column:
    """What rows are brought together by: ids that are equal have equal keys."""
    from pyspark.sql import types as spark_types

    if all(isinstance(dtype, spark_types.IntegralType) for dtype in types):
        return ids.cast("long")
    if all(isinstance(dtype, spark_types.NumericType) for dtype in types):
        # Minus zero is zero.
        return ids.cast("double") + 0.0
    return ids if types[0] == types[1] else ids.cast("string")


def _problems(result: pa.Table) -> list[Problem]:
    """One of each: tasks find the same thing wrong with different groups."""
    texts = sorted(pc.drop_null(pc.unique(result.column("text"))).to_pylist())
    found: dict[tuple[str, ...], Problem] = {}
    for text in texts:
        problem = Problem(**json.loads(text))
        table = problem.where.split(", ")[0]
        column = re.split(r", (?=column |never\[)", problem.where)[-1]
        found.setdefault((table, column, problem.fix), problem)
    return list(found.values())
