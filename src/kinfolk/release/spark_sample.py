"""Tables drawn on a cluster: each task of Spark draws whole batches, which keeps nobody waiting.

What is drawn depends on the model, the number of groups and the seeds alone. How many tasks there
are, and who draws which batch, changes nothing; it is what one machine would have drawn.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from kinfolk._io import local_path, new_file
from kinfolk.data.decode import decode, types_from_json, types_to_json
from kinfolk.data.shapes import SHARES, Shapes
from kinfolk.data.spark_session import (
    collected,
    mapped,
    own_threads,
    spark_columns,
    spark_session,
)
from kinfolk.errors import KinfolkError
from kinfolk.models.base import rechunked
from kinfolk.models.raking import RAKING, Raking
from kinfolk.models.records import Acceptance, Drawing, Records, Search
from kinfolk.release.file import file_digest
from kinfolk.release.release import CHUNK, Written, lasting_types
from kinfolk.schema import Schema
from kinfolk.schema.where import Where

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kinfolk.release.release import Release

POLL = 1.0
"""Seconds between two looks at how many files are there."""


@dataclass(frozen=True, kw_only=True)
class DrawTask:
    """Draws batches of a sample. Only plain values travel to where it runs."""

    schema: str
    """As YAML."""
    described: Mapping[str, Any]
    """The model, as a model file describes it,"""
    probabilities: npt.NDArray[Any]
    """and all that was learnt."""
    shares: npt.NDArray[Any] | None
    """How numbers lie inside their bins, where that is known."""
    raking: npt.NDArray[Any] | None
    """Which groups are kept, where that was learnt."""
    types: Mapping[str, Mapping[str, str]]
    """How columns are stored, by name."""
    where: str | None
    drawing: Drawing

    @classmethod
    def of(cls, release: Release, groups: int, *, where: str | None, seed: int | None) -> DrawTask:
        """What draws so many groups of a release."""
        schema = release.schema
        if where is not None:
            # What is wrong with it is said here, and not by a machine far away.
            Where.parse(where, schema)
        return cls(
            schema=schema.to_yaml(),
            described=dict(release.model.describe()),
            probabilities=release.model.probabilities,
            shares=release.extra.get(SHARES),
            raking=release.extra.get(RAKING),
            types=types_to_json(lasting_types(schema, release.types, groups)),
            where=where,
            drawing=Drawing.of(schema, groups, rng=np.random.default_rng(seed)),
        )

    @cached_property
    def records(self) -> Records:
        """What records are drawn from, where the task runs."""
        return self._records()

    def _records(self) -> Records:
        from kinfolk.release.file import KINDS

        schema = Schema.from_text(self.schema)
        kind = KINDS[self.described["kind"]]
        shapes = None
        if self.shares is not None:
            shapes = Shapes.from_arrays(schema, {SHARES: self.shares})
        return Records(
            model=kind.from_description(self.described, schema, self.probabilities),
            shapes=shapes,
            raking=None if self.raking is None else Raking.of(schema, self.raking),
            types=types_from_json(self.types, schema),
            where=None if self.where is None else Where.parse(self.where, schema),
        )

    def columns(self) -> dict[str, pa.Schema]:
        """The columns of every table, as they are stored."""
        records = replace(self._records(), where=None)
        one = records.draw_all(1, rng=np.random.default_rng(0))
        tables = decode(one, rng=np.random.default_rng(0), first_id=self.drawing.batches.groups)
        return {name: table.schema for name, table in tables.items()}

    def rows(
        self, batches: Iterable[pa.RecordBatch], table: str, stored: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one table, of the batches whose numbers come in."""
        for at in _numbers(batches):
            for tables in self.tables(at):
                yield from tables[table].cast(stored).to_batches()

    def write(
        self, batches: Iterable[pa.RecordBatch], folders: Mapping[str, str]
    ) -> Iterator[pa.RecordBatch]:
        """Write the batches whose numbers come in, a file each; tell about files, and about rules.

        A file that is written once more, after a machine was lost, is the same file.
        """
        for at in _numbers(batches):
            paths = {name: Path(folder) / part_name(at) for name, folder in folders.items()}
            rows = dict.fromkeys(paths, 0)
            with ExitStack() as stack:
                files = {name: stack.enter_context(new_file(path)) for name, path in paths.items()}
                writers: dict[str, pq.ParquetWriter] = {}
                with ExitStack() as ends:
                    for tables in self.tables(at):
                        for name, table in tables.items():
                            if name not in writers:
                                writer = pq.ParquetWriter(files[name], table.schema)
                                writers[name] = ends.enter_context(writer)
                            writers[name].write_table(table)
                            rows[name] += table.num_rows
            for name, path in paths.items():
                yield _report(at=at, table=name, rows=rows[name], digest=file_digest(path))
        yield _report(acceptance=vars(self.records.acceptance), search=vars(self.records.search))

    def tables(self, at: int) -> Iterator[dict[str, pa.Table]]:
        """The tables of a batch, some groups at a time; keys count on from the batch before."""
        own_threads()
        # All numbers have been drawn: nothing comes from this generator.
        rng = np.random.default_rng(0)
        done = self.drawing.batches.start(at)
        for chunk in rechunked([self.records.batch(self.drawing, at)], CHUNK):
            yield decode(chunk, rng=rng, first_id=done + 1)
            done += chunk.groups


def part_name(at: int) -> str:
    """The file of a batch; in the order of names, files are in the order of keys.

    >>> part_name(12)
    'part-000012.parquet'
    """
    return f"part-{at:06}.parquet"


def sample_spark(
    release: Release, groups: int, *, where: str | None, seed: int | None
) -> dict[str, DataFrame]:
    """DataFrames of Spark, by table; they are drawn when somebody looks, the same every time."""
    task = DrawTask.of(release, groups, where=where, seed=seed)
    found: dict[str, DataFrame] = {}
    for name, columns in task.columns().items():
        kinds, stored = spark_columns(columns)
        found[name] = mapped(_batches(task), _drawing(task, name, stored), kinds)
    return found


def write_spark_sample(
    release: Release,
    groups: int,
    directory: str | os.PathLike[str],
    *,
    where: str | None,
    seed: int | None,
    progress: Callable[[int], None] | None = None,
) -> Written:
    """Write `<table>.parquet`, folders with a file for every batch, which the tasks write.

    All machines must see the folder under the same name. The folders appear when all is complete.
    """
    task = DrawTask.of(release, groups, where=where, seed=seed)
    target = local_path(directory)
    names = release.schema.table_names
    try:
        target.mkdir(parents=True, exist_ok=True)
        with _folders(target, names) as folders, _watching(task, folders[names[-1]], progress):
            plain = {name: str(folder.absolute()) for name, folder in folders.items()}
            job = mapped(
                _batches(task), lambda batches: task.write(batches, plain), "report string"
            )
            reports = [
                json.loads(text)
                for text in collected(job, "draws the tables").column("report").to_pylist()
            ]
            files = sorted(
                (one for one in reports if "at" in one), key=lambda one: (one["table"], one["at"])
            )
            for one in files:
                if not (folders[one["table"]] / part_name(one["at"])).is_file():
                    raise KinfolkError(
                        f"{target}: what Spark's executors wrote there is not here. Choose a "
                        "folder that all machines share, or draw DataFrames "
                        "(`sample(frames='spark')`) and write them with Spark."
                    )
    except OSError as error:
        raise KinfolkError(
            f"the sample cannot be written to {target}: {error.strerror or error}. "
            "Choose a directory you can write to, with room for the data."
        ) from error
    rows = dict.fromkeys(names, 0)
    for one in files:
        rows[one["table"]] += one["rows"]
    return Written(
        paths={name: target / f"{name}.parquet" for name in names},
        rows=rows,
        acceptance=Acceptance(**_sums(reports, "acceptance")),
        search=Search(**_sums(reports, "search")),
        digests={f"{one['table']}.parquet/{part_name(one['at'])}": one["digest"] for one in files},
    )


def _drawing(
    task: DrawTask, table: str, stored: pa.Schema
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    return lambda batches: task.rows(batches, table, stored)


def _batches(task: DrawTask) -> DataFrame:
    """The numbers of all batches, each in a partition of its own."""
    number = len(task.drawing.batches)
    return spark_session().range(0, number, 1, number)


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _report(**told: Any) -> pa.RecordBatch:
    return pa.record_batch([pa.array([json.dumps(told)])], names=["report"])


def _sums(reports: list[dict[str, Any]], of: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for report in reports:
        for name, number in report.get(of, {}).items():
            found[name] = found.get(name, 0) + number
    return found


@contextmanager
def _folders(target: Path, tables: Iterable[str]) -> Iterator[dict[str, Path]]:
    """A folder for every table; they get their names, instead of what was there, if all is well."""
    mark = secrets.token_hex(4)
    folders = {name: target / f".{name}.{mark}.partial" for name in tables}
    try:
        for folder in folders.values():
            folder.mkdir()
        yield folders
        for name, folder in folders.items():
            final = target / f"{name}.parquet"
            if final.is_dir():
                shutil.rmtree(final)
            final.unlink(missing_ok=True)
            folder.rename(final)
    finally:
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _watching(
    task: DrawTask, folder: Path, progress: Callable[[int], None] | None
) -> Iterator[None]:
    """Tell how many groups are there, while the tasks write."""
    if progress is None:
        yield
        return
    ended = threading.Event()
    batches = task.drawing.batches

    def look() -> None:
        while not ended.wait(POLL):
            files = sum(1 for path in folder.iterdir() if not path.name.startswith("."))
            progress(min(files * batches.size, batches.groups))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
