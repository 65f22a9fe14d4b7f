"""The simulator's front door: groups with ids 1..N, in chunks of any size.

Households are drawn in fixed blocks, each with a generator of its own, spawned from the seed and
the number of the block. So the first n groups are the same whatever the total or the chunk.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kinfolk.data.simulate.census import CENSUS_SOURCES
from kinfolk.data.simulate.draw import Ints
from kinfolk.data.simulate.referrals import REFERRAL_SOURCES
from kinfolk.data.simulate.sample import Sample, Source
from kinfolk.errors import KinfolkError

SOURCES: dict[str, Source] = {**CENSUS_SOURCES, **REFERRAL_SOURCES}
"""What can be simulated, by the name of its schema."""

NAMES: tuple[str, ...] = tuple(SOURCES)


def simulate(
    name: str, *, groups: int, seed: int, chunk: int = 50_000
) -> Iterator[dict[str, pa.Table]]:
    """Made-up groups and their members, from public parameters, in chunks of whole groups.

    `name` is a shipped schema: `acs`, `acs-red`, `acs-rel` or `afst`. Each chunk maps the two table
    names to tables that fit that schema, with ids 1, 2, ... over all chunks. The groups depend on
    the name and the seed only: a larger total continues a smaller one, and `chunk` changes nothing.

    >>> first = next(simulate("acs-red", groups=1000, seed=7, chunk=3))
    >>> first["households"].column_names
    ['SERIAL', 'METRO', 'OWNERSHP', 'FARM', 'FOODSTMP']
    >>> first["households"]["SERIAL"].to_pylist()
    [1, 2, 3]
    """
    source = find_source(name)
    for argument, value, least in (("groups", groups, 1), ("seed", seed, 0), ("chunk", chunk, 1)):
        _check(argument, value, least)
    return _chunks(source, groups, seed, chunk)


def simulate_tables(name: str, *, groups: int, seed: int) -> dict[str, pa.Table]:
    """The same groups as `simulate`, in two tables held in memory.

    >>> tables = simulate_tables("afst", groups=5, seed=1)
    >>> sorted(tables), tables["referrals"].num_rows
    (['children', 'referrals'], 5)
    """
    chunks = list(simulate(name, groups=groups, seed=seed))
    return {table: pa.concat_tables([chunk[table] for chunk in chunks]) for table in chunks[0]}


def find_source(name: str) -> Source:
    """What makes the data of this name; the message lists the names where there is none."""
    if name not in SOURCES:
        raise KinfolkError(
            f"simulate: there is no simulator called {name!r}. Use one of: {', '.join(NAMES)}."
        )
    return SOURCES[name]


def _check(argument: str, value: int, least: int) -> None:
    """Refuse anything but a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise KinfolkError(
            f"simulate: {argument} is {value!r}. Give a whole number of at least {least}."
        )


def _blocks(source: Source, groups: int, seed: int) -> Iterator[Sample]:
    """Blocks that add up to exactly this many groups."""
    block = 0
    while groups > 0:
        spawned = np.random.SeedSequence(int(seed), spawn_key=(block,))
        sample = source.draw(np.random.default_rng(spawned))
        yield sample if len(sample) <= groups else sample.split(groups)[0]
        groups -= len(sample)
        block += 1


def _chunks(source: Source, groups: int, seed: int, chunk: int) -> Iterator[dict[str, pa.Table]]:
    """Regroup the blocks into chunks and give out ids."""
    pieces: list[Sample] = []
    gathered, done = 0, 0
    for sample in _blocks(source, groups, seed):
        rest = sample
        while gathered + len(rest) >= chunk:
            piece, rest = rest.split(chunk - gathered)
            yield _tables(source, [*pieces, piece], done)
            done += chunk
            pieces, gathered = [], 0
        if len(rest):
            pieces.append(rest)
            gathered += len(rest)
    if pieces:
        yield _tables(source, pieces, done)


def _tables(source: Source, pieces: list[Sample], done: int) -> dict[str, pa.Table]:
    """Two Arrow tables with ids that continue after `done`."""
    sizes = np.concatenate([piece.sizes for piece in pieces])
    ids = np.arange(done + 1, done + 1 + len(sizes), dtype=np.int64)

    def table(ids: Ints, parts: list[dict[str, Ints]]) -> pa.Table:
        columns = {
            name: _column(np.concatenate([part[name] for part in parts]), source.words.get(name))
            for name in parts[0]
        }
        return pa.table({source.id: pa.array(ids), **columns})

    return {
        source.group_table: table(ids, [piece.groups for piece in pieces]),
        source.member_table: table(np.repeat(ids, sizes), [piece.members for piece in pieces]),
    }


def _column(values: Ints, words: tuple[str, ...] | None) -> pa.Array:
    """Small whole numbers, or the words that they stand for."""
    small = values.astype(np.int16)
    if words is None:
        return pa.array(small)
    coded = pa.DictionaryArray.from_arrays(pa.array(small), pa.array(words))
    return coded.cast(pa.string())
