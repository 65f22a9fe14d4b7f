"""Census-like data of any size from fixed public parameters, for benchmarks and examples.

It stands in for data that is confidential or licensed. The parameters are round numbers written
down in these files; they look like published tables and were fitted to nothing.

Groups are drawn block by block, and each block has its own generator, made from the seed and
the number of the block. So the first n groups are the same whatever the total or the chunk.
Each group has an id of its own; tables come in chunks, in memory, or in files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kinfolk._typing import Ints
from kinfolk.datasets import schema_text
from kinfolk.errors import KinfolkError
from kinfolk.experiments.simulate.census import draw_acs, draw_reduced, draw_related
from kinfolk.experiments.simulate.draw import Simulated
from kinfolk.experiments.simulate.referrals import WORDS, draw_referrals

__all__ = ["NAMES", "simulate", "simulate_tables", "write_simulation"]


@dataclass(frozen=True, kw_only=True)
class Simulator:
    """One kind of data the simulator makes: how its tables are called and how a block is drawn."""

    draw: Callable[[np.random.Generator], Simulated]
    """Draws one block; how many groups come out may differ from block to block."""
    group_table: str = "households"
    member_table: str = "persons"
    id: str = "SERIAL"
    """The column that both tables share."""
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Columns whose numbers stand for words, and the words."""


SIMULATORS = {
    "acs": Simulator(draw=draw_acs),
    "acs-red": Simulator(draw=draw_reduced),
    "acs-rel": Simulator(draw=draw_related),
    "afst": Simulator(
        draw=draw_referrals,
        group_table="referrals",
        member_table="children",
        id="REFERRAL_ID",
        words=WORDS,
    ),
}
"""What can be simulated, by the name of its schema."""

NAMES: tuple[str, ...] = tuple(SIMULATORS)
SCHEMA_FILE = "schema.yaml"


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
    if name not in SIMULATORS:
        raise KinfolkError(
            f"simulate: there is no simulator called {name!r}. Use one of: {', '.join(NAMES)}."
        )
    for argument, value, least in (("groups", groups, 1), ("seed", seed, 0), ("chunk", chunk, 1)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise KinfolkError(
                f"simulate: {argument} is {value!r}. Give a whole number of at least {least}."
            )
    return _chunks(SIMULATORS[name], groups, seed, chunk)


def simulate_tables(name: str, *, groups: int, seed: int) -> dict[str, pa.Table]:
    """The same groups as `simulate`, in two tables held in memory.

    >>> tables = simulate_tables("afst", groups=5, seed=1)
    >>> sorted(tables), tables["referrals"].num_rows
    (['children', 'referrals'], 5)
    """
    return next(simulate(name, groups=groups, seed=seed, chunk=groups))


def _blocks(source: Simulator, groups: int, seed: int) -> Iterator[Simulated]:
    """Blocks that add up to exactly this many groups."""
    block = 0
    while groups > 0:
        spawned = np.random.SeedSequence(int(seed), spawn_key=(block,))
        sample = source.draw(np.random.default_rng(spawned))
        yield sample.cut(0, groups)
        groups -= len(sample)
        block += 1


def _chunks(source: Simulator, groups: int, seed: int, chunk: int) -> Iterator[dict[str, pa.Table]]:
    """Regroup the blocks into chunks and give out ids."""
    pieces: list[Simulated] = []
    gathered, done = 0, 0
    for sample in _blocks(source, groups, seed):
        at = 0
        while at < len(sample):
            pieces.append(sample.cut(at, at + chunk - gathered))
            at += len(pieces[-1])
            gathered += len(pieces[-1])
            if gathered == chunk:
                yield _tables(source, pieces, done)
                pieces, gathered, done = [], 0, done + chunk
    if pieces:
        yield _tables(source, pieces, done)


def _tables(source: Simulator, pieces: list[Simulated], done: int) -> dict[str, pa.Table]:
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
    small = pa.array(values.astype(np.int16))
    if words is None:
        return small
    return pa.DictionaryArray.from_arrays(small, pa.array(words)).cast(pa.string())


def write_simulation(
    name: str,
    directory: str | os.PathLike[str],
    *,
    groups: int,
    seed: int,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """Write `<table>.parquet` for both tables, and `schema.yaml`, into a directory.

    Memory does not grow with `groups`. Each file appears under its name only when all are complete:
    an interrupted run leaves what was there before. `progress` is called with the groups written so
    far. Returns the name, the seed, the paths by table (and `schema`), and the rows by table.
    """
    chunks = simulate(name, groups=groups, seed=seed)
    target = Path(directory)
    try:
        target.mkdir(parents=True, exist_ok=True)
        # Also removed by Ctrl-C.
        with tempfile.TemporaryDirectory(dir=target, prefix=".partial-") as folder:
            rows = _write_tables(chunks, Path(folder), progress)
            (Path(folder) / SCHEMA_FILE).write_text(schema_text(name), encoding="utf-8")
            paths = {table: target / f"{table}.parquet" for table in rows}
            paths["schema"] = target / SCHEMA_FILE
            for path in paths.values():
                (Path(folder) / path.name).replace(path)
    except OSError as error:
        raise KinfolkError(
            f"simulate: cannot write to {target}: {error.strerror or error}. "
            "Choose a directory you can write to, with room for the data."
        ) from error
    return {"name": name, "seed": int(seed), "paths": paths, "rows": rows}


def _write_tables(
    chunks: Iterator[dict[str, pa.Table]], folder: Path, progress: Callable[[int], None]
) -> dict[str, int]:
    """Stream every chunk to its file; the rows of each table, that of the groups first."""
    writers: dict[str, pq.ParquetWriter] = {}
    rows: dict[str, int] = {}
    with ExitStack() as open_files:
        for chunk in chunks:
            for table, data in chunk.items():
                if table not in writers:
                    writer = pq.ParquetWriter(folder / f"{table}.parquet", data.schema)
                    writers[table] = open_files.enter_context(writer)
                writers[table].write_table(data)
                rows[table] = rows.get(table, 0) + data.num_rows
            progress(next(iter(rows.values())))
    return rows
