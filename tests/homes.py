"""Small tables of homes and their people, shuffled, on disk; and what counting them gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kinfolk.data.encode import encode
from kinfolk.data.frames import write_table
from kinfolk.errors import DataError
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

Tables = dict[str, pa.Table]

HOMES = Schema.from_text("""
group: {table: homes, id: home, attributes: {veh: {values: [0, 1, 2]}}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
max_size: 3
oversize: first
workload: {k: 2}
""")


def homes(groups: int = 400, *, seed: int = 1) -> Tables:
    """Homes of one to five people, in random order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, size=groups)
    ids = rng.permutation(10 * groups)[:groups]
    members = rng.permutation(np.repeat(ids, sizes))
    sex = np.array(["m", "f"])[rng.integers(2, size=len(members))]
    return {
        "homes": pa.table({"veh": rng.integers(3, size=groups), "home": ids}),
        "people": pa.table({"sex": sex, "home": members}),
    }


def shuffled(tables: Tables, rng: np.random.Generator) -> Tables:
    return {name: t.take(rng.permutation(t.num_rows)) for name, t in tables.items()}


def written(
    folder: Path, tables: Tables, kinds: dict[str, str] | str = "parquet"
) -> dict[str, Path]:
    paths = {}
    for name, table in tables.items():
        paths[name] = folder / f"{name}.{kinds if isinstance(kinds, str) else kinds[name]}"
        write_table(table, paths[name])
    return paths


def in_memory(
    workload: Workload, tables: Any, weights: npt.NDArray[np.int64] | None = None
) -> Counter:
    counter = Counter(workload, weights=weights)
    counter.add(encode(workload.schema, tables, finely=workload.finely))
    return counter


def assert_same(left: Counter, right: Counter) -> None:
    np.testing.assert_array_equal(left.counts, right.counts)
    assert (left.groups, left.people) == (right.groups, right.people)
    assert left.cleaning == right.cleaning


def outcome(count: Callable[[], Counter]) -> object:
    """All that counting gives, or what it complains about."""
    try:
        counter = count()
    except DataError as error:
        return str(error)
    return counter.counts.tolist(), counter.groups, counter.people, counter.cleaning


def duplicate(tables: Tables) -> Tables:
    first = tables["homes"].slice(0, 1)
    return {**tables, "homes": pa.concat_tables([tables["homes"], first])}


def lonely(tables: Tables) -> Tables:
    row = pa.table({"veh": [1], "home": [999_999]})
    return {**tables, "homes": pa.concat_tables([tables["homes"], row])}


def orphan(tables: Tables) -> Tables:
    row = pa.table({"sex": ["m", "f"], "home": [999_999, 999_999]})
    return {**tables, "people": pa.concat_tables([tables["people"], row])}


def blank(tables: Tables) -> Tables:
    row = pa.table({"sex": ["m"], "home": pa.array([None], pa.int64())})
    return {**tables, "people": pa.concat_tables([tables["people"], row])}


def undeclared(tables: Tables) -> Tables:
    veh = tables["homes"]["veh"].to_pylist()
    veh[250] = 7
    return {**tables, "homes": tables["homes"].set_column(0, "veh", pa.array(veh))}


MISTAKES = [duplicate, lonely, orphan, blank, undeclared]
"""Ways to spoil tables."""
