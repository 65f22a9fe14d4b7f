"""A release: a model that may be published, with the certificate that says why, and its tables."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from kinfolk._io import local_path, new_file, write_whole
from kinfolk.data.decode import Types, decode, may_be_blank
from kinfolk.data.frames import FORMATS, to_frame, without_dictionaries
from kinfolk.data.shapes import SHARES, Shapes
from kinfolk.data.spark_session import runs_on_spark
from kinfolk.data.stat_files import PROGRAMS, StatWriter, check_writable
from kinfolk.errors import KinfolkError
from kinfolk.models.base import Model, check_groups
from kinfolk.models.raking import Raking
from kinfolk.models.records import Acceptance, Records, Search
from kinfolk.privacy.certificate import NOT_PRIVATE, certificate_rows
from kinfolk.release.codebook import Codebook
from kinfolk.release.file import file_digest
from kinfolk.schema import Schema
from kinfolk.schema.where import Where
from kinfolk.template import show

if TYPE_CHECKING:
    from kinfolk.methods.method import Progress
    from kinfolk.queries.workload import Workload
    from kinfolk.release.answers import Answers, Line


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
    records: Records,
    groups: int,
    directory: str | os.PathLike[str],
    *,
    rng: np.random.Generator,
    format: str = "csv",  # noqa: A002  (the name users know from the command line)
    progress: Callable[[int], None] | None = None,
) -> Written:
    """Draw groups and write the schema's tables, `<table>.csv` or another format, keys 1 to N.

    Memory does not grow with `groups`, except for dta and sav, which are put together first. The
    files appear under their names when all are complete; an interrupted run leaves what was there
    before. `progress` is called with the groups written so far, or with those found so far where
    groups that meet a condition are searched for. Storage types are kept where they hold the
    domain.

    >>> import tempfile
    >>> from kinfolk.datasets import load_schema
    >>> from kinfolk.models.histogram import Histogram
    >>> records = Records(model=Histogram.uniform(load_schema("acs-red")))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_sample(records, 100, folder, rng=np.random.default_rng(1))
    ...     print(dict(written.rows), written.paths["persons"].name)
    {'households': 100, 'persons': 292} persons.csv
    """
    check_groups(groups)
    if format not in FORMATS:
        raise KinfolkError(f"format {format!r} is unknown. Use one of {', '.join(FORMATS)}.")
    schema, target = records.model.schema, local_path(directory)
    check_writable(schema, format)
    searching = records.where is not None and not records.where.exact
    records = replace(
        records,
        types=lasting_types(schema, records.types, groups),
        progress=progress if searching else None,
    )
    chunks = records.draw(groups, rng=rng, chunk=CHUNK)
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


CERTIFICATE = "privacy.json"
"""What the certificate is called beside the tables."""


class Drawable:
    """What tables are drawn from: a release, or a synthesizer that has made one."""

    def _drawn_from(self, seed: int | None) -> tuple[Release, int | None]:
        """The release, and the seed that is meant."""
        raise NotImplementedError

    def sample(
        self,
        groups: int | None = None,
        *,
        where: str | None = None,
        seed: int | None = None,
        frames: str | None = None,
    ) -> dict[str, Any]:
        """Draw so many groups, by default as many as the data had: tables by name.

        With `where`, such as "region = ES51", only groups that meet a condition: exactly so many,
        as the model says that such groups are. The tables are of the kind that the model was fitted
        to, or what `frames` says: 'pandas', 'polars', 'pyarrow' or 'spark'; the cluster draws those
        of Spark. A seed makes the draw repeatable, and costs no privacy; a synthesizer with a seed
        draws the same every time.
        """
        own, chosen = self._drawn_from(seed)
        kind = frames or own.frames
        if kind == "spark":
            from kinfolk.release.spark_sample import sample_spark

            return {**sample_spark(own, own._number(groups), where=where, seed=chosen)}
        rng, records = np.random.default_rng(chosen), own._records(where)
        tables = decode(records.draw_all(own._number(groups), rng=rng), rng=rng)
        blank = may_be_blank(own.schema)
        return {name: to_frame(one, kind, nullable=blank[name]) for name, one in tables.items()}

    def replicates(
        self,
        number: int | None = None,
        *,
        groups: int | None = None,
        where: str | None = None,
        seed: int | None = None,
        frames: str | None = None,
    ) -> list[dict[str, Any]]:
        """Tables drawn from models that were fitted again to noise like ours, by default from all.

        A statistic that is computed on each of them, and on `sample`, has the standard error that
        `kinfolk.pool` works out. Without `groups`, each has as many groups as it would have been
        taken to have: that number is noisy, too. Other arguments are those of `sample`.
        """
        from kinfolk.release.replicates import replicate_releases, replicate_seed

        own, chosen = self._drawn_from(seed)
        return [
            one.sample(groups, where=where, seed=replicate_seed(chosen, at), frames=frames)
            for at, one in enumerate(replicate_releases(own, number), 1)
        ]


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(Drawable):
    """Everything that may leave the house. Tables are drawn from it without touching data.

    >>> from dataclasses import replace
    >>> import kinfolk
    >>> from kinfolk import WorkloadSpec, load_detroit
    >>> schema, tables = load_detroit()
    >>> maker = kinfolk.Synthesizer(
    ...     replace(schema, workload=WorkloadSpec(k=2)), unit="household", epsilon=1.0, delta=1e-9,
    ...     method="hpd-fixed", rounds=2, components=10, max_iterations=2, seed=1,
    ... )
    >>> release = maker.fit(tables).release
    >>> release
    Release(hpd-fixed, epsilon = 1 and delta = 1e-09 for one household, NOT PRIVATE: seeded)
    >>> release.sample(1000, seed=1)["households"].num_rows
    1000
    """

    model: Model
    """What groups are drawn from."""
    certificate: Mapping[str, Any]
    """What was promised, to whom, and how it was spent."""
    groups: int
    """How many groups are drawn by default: as many as the data has, as far as is released."""
    method: str
    """The method's name."""
    settings: Mapping[str, Any]
    """What the method was told."""
    types: Types = field(default_factory=dict)
    """How columns are stored (Arrow), by table; what is not listed gets a natural type."""
    frames: str = "pyarrow"
    """The kind of tables that `sample` makes: those that were given, where any were."""
    extra: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    """More arrays that belong to the model, all released."""

    @property
    def schema(self) -> Schema:
        """The schema of the tables."""
        return self.model.schema

    @property
    def shapes(self) -> Shapes | None:
        """How numbers lie inside their bins, where that was bought: otherwise evenly."""
        return Shapes.from_arrays(self.schema, self.extra) if SHARES in self.extra else None

    @property
    def raking(self) -> Raking | None:
        """Which groups are kept when they are drawn; without it all of them."""
        return Raking.from_arrays(self.schema, self.extra)

    @property
    def private(self) -> bool:
        """Whether the promise holds: not if any noise came from a seed."""
        return self.certificate["private"] is True

    def write(
        self,
        directory: str | os.PathLike[str],
        *,
        groups: int | None = None,
        where: str | None = None,
        seed: int | None = None,
        format: str = "csv",  # noqa: A002  (the name users know from the command line)
        engine: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Written:
        """Draw groups into `<table>.csv` or another format, with certificate and codebook.

        With `engine="spark"` they are drawn on its cluster, into folders `<table>.parquet`; all
        machines must see the directory under the same name.

        Memory does not grow with `groups`, except for the formats dta and sav. `progress` is called
        with the groups written so far, or found so far where they have to be looked for (see
        `sample` for `where`). The certificate says the condition.
        """
        records = self._records(where)
        number, checked = self._number(groups), checked_seed(seed)
        if runs_on_spark(None, engine):
            from kinfolk.release.spark_sample import write_spark_sample

            if format != "parquet":
                raise KinfolkError(
                    f"format is {format!r}, and Spark writes Parquet. Choose the format parquet, "
                    "or leave the engine out."
                )
            written = write_spark_sample(
                self, number, directory, where=where, seed=checked, progress=progress
            )
        else:
            rng = np.random.default_rng(checked)
            written = write_sample(
                records, number, directory, rng=rng, format=format, progress=progress
            )
        released = {**self.certificate["release"], "tables": dict(written.digests)}
        if self.schema.never:
            released["acceptance"] = written.acceptance.describe()
        if records.where is not None:
            released["where"] = records.where.text
            if not records.where.exact:
                released["search"] = written.search.describe()
        stated = {**self.certificate, "release": released}
        text = json.dumps(stated, indent=2) + "\n"
        target = local_path(directory)
        write_whole(target / CERTIFICATE, text, durable=True)
        files = {name: path.name for name, path in written.paths.items()}
        book = Codebook.of(self.schema, stated, files=files, rows=written.rows)
        book.write(target)
        return written

    def with_replicates(
        self, number: int, *, seed: int | None = None, progress: Progress | None = None
    ) -> Release:
        """The same release with at least so many replicates, made from what it holds.

        It takes as long as fitting, and costs no privacy: the data is not touched. `progress` is
        called with what is being done, how many steps are done, and of how many.
        """
        from kinfolk.release.replicates import with_replicates

        told = {} if progress is None else {"progress": progress}
        return with_replicates(self, number, seed=checked_seed(seed), **told)

    def answer(self, asked: Workload | Line | Sequence[Line], *, weighted: bool = False) -> Answers:
        """Answer questions, in words or a workload, with standard errors; no data is touched.

        With `weighted`, groups and their people count for their survey weight.
        """
        from kinfolk.release.answers import answer

        return answer(self, asked, weights=weighted)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, all of it or nothing; `kinfolk.load` reads it back."""
        from kinfolk.release.file import save

        save(self, path)

    def _drawn_from(self, seed: int | None) -> tuple[Release, int | None]:
        return self, checked_seed(seed)

    def _records(self, where: str | None) -> Records:
        """What records are drawn from: groups that meet a condition, if there is one."""
        return Records(
            model=self.model,
            shapes=self.shapes,
            raking=self.raking,
            types=self.types,
            where=None if where is None else Where.parse(where, self.schema),
        )

    def _number(self, groups: int | None) -> int:
        number = self.groups if groups is None else _plain_number(groups)
        check_groups(number)
        return number

    def __repr__(self) -> str:
        stated = self.certificate
        seeded = "" if self.private else ", NOT PRIVATE: seeded"
        return (
            f"Release({self.method}, epsilon = {stated['epsilon']:g} and delta = "
            f"{stated['delta']:.3g} for one {stated['unit_name']}{seeded})"
        )

    def _repr_html_(self) -> str:
        rows = [("Method", self.method), ("Groups", f"{self.groups:,}")]
        note = "" if self.private else NOT_PRIVATE
        return show("Release", [*rows, *certificate_rows(self.certificate)], note=note)


def _plain_number(number: Any) -> Any:
    """A whole number of NumPy, as sums of columns are, as one of Python; all else as it is."""
    return int(number) if isinstance(number, np.integer) else number


def checked_seed(seed: int | None) -> int | None:
    """The seed, if it is one."""
    seed = _plain_number(seed)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise KinfolkError(f"seed: {seed!r} is not a whole number of at least 0.")
    return seed
