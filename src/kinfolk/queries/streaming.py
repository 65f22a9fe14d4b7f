"""Exact answers from files of any size, in bounded memory, with rows in any order.

Tables that fit into the memory allowed are counted at once. Larger ones are spread over buckets on
disk by the hash of the group's id, and counted bucket by bucket: all of a group is in one bucket,
so that every check and every count sees whole groups.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kinfolk.data.buckets import Buckets, Piece, cost, private_folder, remove_leftovers
from kinfolk.data.columns import column_kind
from kinfolk.data.encode import (
    HEADING,
    check_table_names,
    encode_sources,
    missing_columns,
    swapped,
)
from kinfolk.data.encoded import Encoded
from kinfolk.data.membership import nobody_left
from kinfolk.data.tables import Source, Stream, TableFile, UnreadableError, open_file
from kinfolk.errors import DataError, KinfolkError, Problem
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

MEMORY = 512 * 2**20
"""Bytes that tables may take while they are counted, unless the caller says otherwise."""

Progress = Callable[[str, int], None]
"""Told "reading" and the rows read, then "counting" and the people counted, so far."""

Read = TypeVar("Read", covariant=True)

ROW = 4096
"""A piece of a file has one row for so many bytes of memory, ..."""
PIECE = (1_000, 131_072)
"""... but no fewer and no more rows than this."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Some rows of each table: whole groups."""

    tables: list[pa.Table]
    """The wanted columns, then the number of each row."""
    whole: bool
    """Whether these are all the rows there are."""


def count_files(
    workload: Workload,
    tables: Mapping[str, str | Path | TableFile],
    *,
    weights: npt.NDArray[np.int64] | None = None,
    memory: int = MEMORY,
    progress: Progress | None = None,
) -> Counter:
    """Count files of any format by the schema's table names, with rows in any order.

    The result equals that of counting in memory, number by number. `memory` is about how many bytes
    the tables may take at a time; Python, its libraries and the answers come on top. Whatever does
    not fit goes to temporary files, uncompressed, in a folder that only its owner may enter. It is
    removed in any case: after `kill -9` by the next run of the same user.

    >>> from kinfolk.datasets import load_detroit
    >>> import pyarrow.parquet as pq
    >>> import tempfile
    >>> schema, tables = load_detroit()
    >>> workload = Workload.of(schema, k=1, levels=["individual"], attributes=["sex"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = {name: f"{folder}/{name}.parquet" for name in tables}
    ...     for name, table in tables.items():
    ...         pq.write_table(table, paths[name])
    ...     counter = count_files(workload, paths)
    >>> counter.counts.tolist(), counter.groups, counter.people
    ([15766, 14768], 14793, 30534)
    """
    schema = workload.schema
    check_table_names(schema, tables)
    if isinstance(memory, bool) or not isinstance(memory, int) or memory < 1:
        raise KinfolkError(f"memory is {memory!r}. Give a number of bytes, such as {MEMORY}.")
    tell = progress or (lambda stage, number: None)
    counter = Counter(workload, weights=weights)
    name = schema.individual.table

    def encoded(
        homes: Source | None, people: Source, problems: list[Problem], *, part: bool
    ) -> Encoded:
        nonlocal name
        name = people.name
        return encode_sources(schema, homes, people, problems, part=part, finely=workload.finely)

    for one in read_parts(schema, tables, encoded, memory=memory, tell=tell):
        counter.add(one)
        tell("counting", counter.people)
    if not counter.groups:
        raise DataError(HEADING, [nobody_left(schema, name, counter.cleaning)])
    return counter


class ReadPart(Protocol[Read]):
    """What is made of whole groups; `part` says whether there are others."""

    def __call__(
        self, homes: Source | None, people: Source, problems: list[Problem], *, part: bool
    ) -> Read:
        """Raises a DataError with these problems, and with all others that it finds."""


def read_parts(
    schema: Schema,
    tables: Mapping[str, str | Path | TableFile],
    read: ReadPart[Read],
    *,
    memory: int = MEMORY,
    tell: Progress = lambda stage, number: None,
) -> Iterator[Read]:
    """What `read` makes of files of any size: of all at once, or of parts that fit into memory."""
    with ExitStack() as stack:
        streams = _open(schema, tables, stack)
        remove_leftovers()

        def folder() -> Path:
            return stack.enter_context(private_folder())

        try:
            for part in _parts(streams, memory, folder, tell):
                yield _read(streams, part, read)
        except UnreadableError as error:
            raise DataError(HEADING, [error.problem]) from None


def _open(
    schema: Schema, tables: Mapping[str, str | Path | TableFile], stack: ExitStack
) -> list[Stream]:
    """The schema's tables, groups first, if they have all the columns."""
    streams: list[Stream] = []
    problems: list[Problem] = []
    for name, columns in schema.columns.items():
        file = open_file(tables[name])
        if not isinstance(file, TableFile):
            raise KinfolkError(
                f"{name}: {type(file).__name__} is not a path. Name a file, or count tables in "
                "memory with kinfolk.queries.counting.count."
            )
        try:
            streams.append(stack.enter_context(file).stream(columns))
        except UnreadableError as error:
            problems.append(error.problem)
        else:
            problems += missing_columns(streams[-1].source(rows=1), columns)
    if len(streams) == 2:
        wrong = swapped(schema, *(stream.file.schema.names for stream in streams))
        problems = [wrong] if wrong else problems
    if problems:
        raise DataError(HEADING, problems)
    return streams


def _read(streams: list[Stream], part: Part, read: ReadPart[Read]) -> Read:
    """Check and read whole groups."""

    def done(tables: list[pa.Table], problems: list[Problem]) -> Read:
        sources = [stream.source(table) for stream, table in zip(streams, tables, strict=True)]
        homes = sources[0] if len(sources) == 2 else None
        return read(homes, sources[-1], problems, part=not part.whole)

    if part.whole:
        rows = [table.num_rows for table in part.tables]
        return done(part.tables, _empty(streams, rows))
    try:
        return done(part.tables, [])
    except DataError:
        pass
    try:
        # Once more in the order of the file, so that what is called the first row is the first.
        return done([table.sort_by("row") for table in part.tables], [])
    except DataError as error:
        raise DataError(f"{HEADING} (only part of the rows was checked)", error.problems) from None


def _empty(streams: list[Stream], rows: list[int]) -> list[Problem]:
    """Tables without rows."""
    found = zip(streams, rows, strict=True)
    return [
        p for stream, n in found for p in missing_columns(stream.source(rows=n), list(stream.types))
    ]


def _parts(
    streams: list[Stream], memory: int, folder: Callable[[], Path], tell: Progress
) -> Iterator[Part]:
    """All rows, in parts that fit into memory; all of a group is in one part."""
    pieces = _pieces(streams, int(np.clip(memory // ROW, *PIECE)), tell)
    held: deque[Piece] = deque()
    room = memory
    for table, piece in pieces:
        held.append((table, piece))
        room -= cost(piece)
        if room < 0:
            break
    else:
        yield _part(streams, held, whole=True)
        return
    rest = chain(_emptied(held), pieces)
    if len(streams) == 1:
        yield from _slices(streams, rest, memory)
        return
    kinds = {column_kind(next(iter(stream.types.values()))) for stream in streams}
    buckets = Buckets(folder(), as_text="text" in kinds)
    buckets.fill(rest)
    problems = _empty(streams, buckets.rows)
    if problems:
        raise DataError(HEADING, problems)
    for found in buckets.parts(memory):
        yield _part(streams, found, whole=False)


def _slices(streams: list[Stream], pieces: Iterable[Piece], memory: int) -> Iterator[Part]:
    """Flat data: every row is a group of its own, so that any slice will do."""
    held: list[Piece] = []
    room = memory
    for table, piece in pieces:
        room -= cost(piece)
        if held and room < 0:
            yield _part(streams, held, whole=False)
            held, room = [], memory - cost(piece)
        held.append((table, piece))
    yield _part(streams, held, whole=False)


def _part(streams: list[Stream], pieces: Iterable[Piece], *, whole: bool) -> Part:
    """One table each; an empty one where there are no rows."""
    found = [[stream.nothing()] for stream in streams]
    for table, piece in pieces:
        found[table].append(piece)
    return Part(tables=[pa.concat_tables(one[1:] or one) for one in found], whole=whole)


def _emptied(held: deque[Piece]) -> Iterator[Piece]:
    """What is held, letting go of it piece by piece."""
    while held:
        yield held.popleft()


def _pieces(streams: list[Stream], rows: int, tell: Progress) -> Iterator[Piece]:
    """Table after table, piece by piece; tells how many rows have been read."""
    done = 0
    for table, stream in enumerate(streams):
        for piece in stream.pieces(rows):
            done += piece.num_rows
            tell("reading", done)
            yield table, piece
