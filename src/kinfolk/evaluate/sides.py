"""The two sides of a comparison: the real tables as they are, the synthetic ones with their flaws.

The real tables must fit the schema. Synthetic tables may come from any tool: groups that hang
together wrongly are counted and left out, so that the rest can still be judged. Values outside
the declared domain are refused on both sides.

All groups are counted as they come, and some held to be looked at. However large the tables are, no
more than HELD bytes of each side stay, and one number for each group, by which copies are found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kinfolk._typing import Bools, Floats, Ints
from kinfolk.data.buckets import Hashes
from kinfolk.data.encode import (
    check_table_names,
    encode,
    encode_sources,
    read_homes,
    read_people,
)
from kinfolk.data.encoded import Encoded
from kinfolk.data.frames import FORMATS
from kinfolk.data.membership import UNKNOWN, Links, link_tables, nobody_left, read_roles
from kinfolk.data.spark_session import runs_on_spark
from kinfolk.data.tables import Source, TableFile, TableLike, UnreadableError, open_file
from kinfolk.errors import DataError, KinfolkError, Problem
from kinfolk.evaluate.groups import CHUNK, SEED, identities
from kinfolk.queries.counting import Counter
from kinfolk.queries.streaming import Read, ReadPart, read_parts
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

Each = Callable[[Encoded], None]
"""Shown the groups, some at a time."""

MEMORY = 128 * 2**20
"""Bytes that the rows of files may take while they are read."""
REAL = "the real tables do not fit the schema"
SYNTHETIC = "the synthetic tables do not fit the schema"
HELD = 96 * 2**20
"""Bytes that the groups which are held of each side take, with ROW for ..."""
ROW = 32
"""... whoever looks at them: so many bytes for every group and every person."""


class Tally:
    """What is counted of all groups."""

    def __init__(self, workload: Workload) -> None:
        self.counter = Counter(workload)
        self._hashes: list[Hashes] = []

    def add(self, part: Encoded) -> None:
        """Count some more groups."""
        count_in_chunks(self.counter, part)
        self._hashes.append(identities(part))

    @property
    def identities(self) -> Hashes:
        """(groups,) a number for each; identical groups have the same."""
        return np.concatenate(self._hashes)


def count_in_chunks(counter: Counter, data: Encoded) -> None:
    """Some groups at a time: the compiled loop wants their codes in another order."""
    codes = replace(data, numbers=None)
    for start in range(0, data.groups, CHUNK):
        counter.add(codes.take(np.arange(start, min(start + CHUNK, data.groups))))


class Held:
    """The groups that are looked at one by one: all, or as many of them, at random, as HELD holds.

    Each group has a random rank, and those of the lowest ranks stay.
    """

    def __init__(self) -> None:
        self._rng = np.random.default_rng(SEED)
        self._parts: list[Encoded] = []
        self._ranks: list[Floats] = []
        self._below = 1.0

    def add(self, part: Encoded) -> None:
        """Hold some more groups."""
        ranks = self._rng.random(part.groups)
        self._parts.append(part)
        self._ranks.append(ranks)
        if self._below < 1:
            self._keep(len(self._parts) - 1)
        # Not for every few bytes too many: those that stay are copied.
        if sum(map(_bytes, self._parts)) > 1.25 * HELD:
            self._thin()

    def data(self) -> Encoded:
        """The groups that stay, with what was left out of all parts."""
        self._thin()
        if len(self._parts) == 1:
            return self._parts[0]
        against = [part.against for part in self._parts if part.against]
        return replace(
            Encoded.joined(self._parts),
            cleaning=reduce(lambda one, other: one + other, (p.cleaning for p in self._parts)),
            against=tuple(map(sum, zip(*against, strict=True))),
        )

    def _thin(self) -> None:
        """Let go of the highest ranks, so that the rest has room."""
        held = sum(map(_bytes, self._parts))
        if held <= HELD:
            return
        ranks = np.concatenate(self._ranks)
        number = max(int(len(ranks) * HELD / held), 1)
        self._below = float(np.partition(ranks, number)[number]) if number < len(ranks) else 1.0
        for at in range(len(self._parts)):
            self._keep(at)

    def _keep(self, at: int) -> None:
        low = np.flatnonzero(self._ranks[at] < self._below)
        self._parts[at], self._ranks[at] = self._parts[at].take(low), self._ranks[at][low]


def _bytes(data: Encoded) -> int:
    numbers = data.numbers
    columns = [*numbers.group.values(), *numbers.individual.values()] if numbers else []
    roles = [] if data.role is None else [data.role]
    codes = (data.group, data.individual, data.offsets, *roles, *columns)
    return sum(one.nbytes for one in codes) + ROW * (data.groups + data.people)


@dataclass(frozen=True, kw_only=True)
class Integrity:
    """Whether synthetic tables hang together, and what was left out because they do not."""

    groups_read: int
    people_read: int
    groups_repeated: int = 0
    """Their id is blank, or another group has it too; left out."""
    people_unlinked: int = 0
    """Their group is not there, or its id is not unique; left out."""
    groups_empty: int = 0
    """Nobody belongs to them; left out."""
    groups_breaking_roles: int = 0
    """They lack a member their roles require, or have a second unique one; left out."""
    groups_oversize: int = 0
    """They are too large, or have too many of a role; dropped or cut as the schema says."""
    people_outside_roles: int = 0
    """Their role is not declared; left out, as the schema says."""
    groups_outside_roles: int = 0
    """Groups in which nobody has a declared role; left out."""
    groups: int
    """What was kept and compared."""
    people: int

    @property
    def sound(self) -> bool:
        """Whether nothing at all had to be left out."""
        return (self.groups, self.people) == (self.groups_read, self.people_read)


def find_tables(schema: Schema, directory: Path) -> dict[str, Path]:
    """The tables of a folder: `<table>.csv`, or in another format, by the schema's names."""
    if not directory.is_dir():
        raise KinfolkError(f"{directory}: there is no such folder. Check the path.")
    found: dict[str, Path] = {}
    for name in schema.table_names:
        there = [path for kind in FORMATS if (path := directory / f"{name}.{kind}").exists()]
        if not there:
            raise KinfolkError(
                f"{directory}: there is no {name}.csv and no {name} in {', '.join(FORMATS[1:])}. "
                "Name the folder that holds the synthetic tables, called as in the schema."
            )
        if len(there) > 1:
            raise KinfolkError(
                f"{directory}: there are both {there[0].name} and {there[1].name}. Remove the one "
                "that is not meant."
            )
        found[name] = there[0]
    return found


def read_real(
    schema: Schema,
    tables: Mapping[str, TableLike],
    *,
    engine: str | None = None,
    each: Each = lambda part: None,
) -> Encoded:
    """The real tables, which must fit the schema; files are read in pieces of whole groups.

    `each` gets all groups, piece by piece; of very many only some are given back.
    """

    def encoded(
        homes: Source | None, people: Source, problems: list[Problem], *, part: bool
    ) -> Encoded:
        return encode_sources(schema, homes, people, problems, part=part, keep_numbers=True)

    check_table_names(schema, tables)
    try:
        tables = _readable(schema, tables, engine)
        held = Held()
        for part in _parts(schema, tables, encoded, partial(encode, keep_numbers=True)):
            each(part)
            held.add(part)
        data = held.data()
    except DataError as error:
        raise DataError(REAL, error.problems) from None
    if not data.groups:
        name = open_file(tables[schema.individual.table]).name
        raise DataError(REAL, [nobody_left(schema, name, data.cleaning)])
    return data


def read_synthetic(
    schema: Schema,
    tables: Mapping[str, TableLike],
    *,
    engine: str | None = None,
    each: Each = lambda part: None,
) -> tuple[Encoded, Integrity]:
    """Synthetic tables without the groups that do not hang together, and how many those were."""

    def sound(
        homes: Source | None, people: Source, problems: list[Problem], *, part: bool
    ) -> tuple[Encoded, Integrity]:
        return _sound(schema, homes, people, problems, part=part)

    check_table_names(schema, tables)
    try:
        tables = _readable(schema, tables, engine)
        held, counted = Held(), []
        for part, one in _parts(schema, tables, sound, _at_once):
            each(part)
            held.add(part)
            counted.append(vars(one))
    except DataError as error:
        raise DataError(SYNTHETIC, error.problems) from None
    except UnreadableError as error:
        raise DataError(SYNTHETIC, [error.problem]) from None
    data = held.data()
    found = Integrity(**{name: sum(one[name] for one in counted) for name in counted[0]})
    if not data.groups:
        name = schema.individual.table
        raise DataError(SYNTHETIC, [_nothing_left(schema, name)])
    return data, found


def _readable(
    schema: Schema, tables: Mapping[str, TableLike], engine: str | None
) -> Mapping[str, TableLike]:
    """Tables as they were given; those that Spark reads as files."""
    if not runs_on_spark(tables, engine):
        return tables
    # Imported here because others need no Spark.
    from kinfolk.queries.spark import SparkTables

    return SparkTables.of(schema, tables).files()


def _parts(
    schema: Schema,
    tables: Mapping[str, TableLike],
    read: ReadPart[Read],
    at_once: Callable[[Schema, Mapping[str, TableLike]], Read],
) -> Iterable[Read]:
    """What is read of files, in pieces of whole groups; or of tables in memory, at once."""
    if all(isinstance(table, str | Path | TableFile) for table in tables.values()):
        return read_parts(schema, tables, read, memory=MEMORY)
    return [at_once(schema, tables)]


def _at_once(schema: Schema, tables: Mapping[str, TableLike]) -> tuple[Encoded, Integrity]:
    """Synthetic tables that are in memory."""
    problems: list[Problem] = []
    group = schema.group
    homes = read_homes(schema, tables[group.table], problems) if group else None
    people = read_people(schema, tables[schema.individual.table], problems)
    return _sound(schema, homes, people, problems, part=False)


def _sound(
    schema: Schema, homes: Source | None, people: Source, problems: list[Problem], *, part: bool
) -> tuple[Encoded, Integrity]:
    """Tables that were read, or a part of them, without the groups that do not hang together."""
    if problems:
        raise DataError(SYNTHETIC, problems)
    found = Integrity(
        groups_read=homes.rows if homes else people.rows,
        people_read=people.rows,
        groups=0,
        people=0,
    )
    links = None
    if homes is not None:
        homes, people, links, found = _whole_groups(schema, homes, people, found, part=part)
    data = encode_sources(
        schema, homes, people, [], part=part, links=links, ruled=False, keep_numbers=True
    )
    cleaning = data.cleaning
    return data, replace(
        found,
        groups_oversize=cleaning.groups_oversize,
        people_outside_roles=cleaning.people_outside_roles,
        groups_outside_roles=cleaning.groups_outside_roles,
        groups=data.groups,
        people=data.people,
    )


def _whole_groups(
    schema: Schema, homes: Source, people: Source, found: Integrity, *, part: bool
) -> tuple[Source, Source, Links, Integrity]:
    """Only groups with one good id, members, and the members their roles require."""
    noted: list[Problem] = []
    links = link_tables(schema, homes, people, noted, part=part)
    roles = None
    if links is not None and schema.roles is not None:
        roles = read_roles(schema, people, noted)
    if links is None or (roles is None and schema.roles is not None):
        raise DataError(SYNTHETIC, noted)
    repeated = _repeated(links)
    inhabited = np.bincount(links.group_of[links.group_of >= 0], minlength=links.groups) > 0
    empty = ~inhabited & ~repeated
    sound = inhabited & ~repeated
    broken = np.zeros(links.groups, bool)
    if roles is not None:
        broken = sound & _breaks_roles(schema, links, roles)
    keep = sound & ~broken
    # Whoever belongs to none, which is -1, finds what is appended.
    staying = np.append(keep, False)[links.group_of]
    found = replace(
        found,
        groups_repeated=int(repeated.sum()),
        people_unlinked=int((~np.append(sound, False)[links.group_of]).sum()),
        groups_empty=int(empty.sum()),
        groups_breaking_roles=int(broken.sum()),
    )
    if not keep.any() and not part:
        raise DataError(SYNTHETIC, [*noted, _nothing_left(schema, people.name)])
    return _kept(homes, keep), _kept(people, staying), links.only(keep, staying), found


def _nothing_left(schema: Schema, table: str) -> Problem:
    what = "no group is left: all of them hang together wrongly."
    fix = f"Check the ids ({schema.individual.group_id}) and the roles."
    return Problem(where=table, what=what, fix=fix)


def _repeated(links: Links) -> Bools:
    """(groups,) whose id is blank, or somebody else's too."""
    codes = links.ids.dictionary_encode().indices if links.ids is not None else pa.array([])
    codes = np.asarray(pc.fill_null(codes, -1).to_numpy(zero_copy_only=False), np.int64)
    counts = np.bincount(codes[codes >= 0], minlength=1)
    repeated: Bools = (codes < 0) | (counts[codes] > 1)
    return repeated


def _breaks_roles(schema: Schema, links: Links, roles: Ints) -> Bools:
    """(groups,) which have too few members of a role, a second unique one, or one unknown."""
    assert schema.roles is not None  # noqa: S101  (callers have checked)
    linked = links.group_of >= 0
    broken: Bools = np.zeros(links.groups, bool)
    broken[links.group_of[linked & (roles == UNKNOWN)]] = True
    for index, role in enumerate(schema.roles.roles.values()):
        held = np.bincount(links.group_of[linked & (roles == index)], minlength=links.groups)
        broken |= held < role.min
        if role.max == 1:
            broken |= held > 1
    return broken


def _kept(source: Source, mask: Bools) -> Source:
    """Some of the rows."""
    if mask.all():
        return source
    columns = {name: column.filter(pa.array(mask)) for name, column in source.columns.items()}
    return replace(source, columns=columns, rows=int(mask.sum()), numbers=np.flatnonzero(mask))
