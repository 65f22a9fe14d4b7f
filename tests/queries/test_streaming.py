"""Counting files piece by piece gives what counting in memory gives, and leaves nothing behind."""

import datetime
import gzip
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from generators import datasets, schemas
from kinfolk.data import buckets
from kinfolk.data.decode import decode
from kinfolk.data.encode import encode
from kinfolk.data.frames import write_table
from kinfolk.datasets import load_detroit
from kinfolk.errors import DataError, KinfolkError
from kinfolk.queries.counting import Counter
from kinfolk.queries.streaming import MEMORY, count_files
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


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, which must be empty at the end of every test."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


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


def written(folder: Path, tables: Tables, kinds: dict[str, str] | str = "parquet") -> dict[str, Path]:
    paths = {}
    for name, table in tables.items():
        paths[name] = folder / f"{name}.{kinds if isinstance(kinds, str) else kinds[name]}"
        write_table(table, paths[name])
    return paths


def in_memory(workload: Workload, tables: Any) -> Counter:
    counter = Counter(workload)
    counter.add(encode(workload.schema, tables))
    return counter


def assert_same(left: Counter, right: Counter) -> None:
    np.testing.assert_array_equal(left.counts, right.counts)
    assert (left.groups, left.people) == (right.groups, right.people)
    assert left.cleaning == right.cleaning


class Watch:
    """Remembers how the counting went."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def __call__(self, stage: str, number: int) -> None:
        self.calls.append((stage, number))

    @property
    def parts(self) -> int:
        return sum(stage == "counting" for stage, _ in self.calls)


@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.data(), st.sampled_from([1, 3000, 20_000, MEMORY]))
def test_files_in_any_order_count_the_same(
    tmp_path_factory: pytest.TempPathFactory, scratch: Path, data: st.DataObject, memory: int
) -> None:
    schema = data.draw(schemas())
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    tables = shuffled(decode(data.draw(datasets(schema, most=25)), rng=rng), rng)
    kinds = {name: data.draw(st.sampled_from(["csv", "parquet"])) for name in tables}
    paths = written(tmp_path_factory.mktemp("tables"), tables, kinds)
    if data.draw(st.booleans()):
        # Groups that were fine are too large now.
        schema = replace(schema, max_size=1)
    workload = Workload.of(schema)
    try:
        expected = in_memory(workload, paths)
    except DataError as error:
        with pytest.raises(DataError) as caught:
            count_files(workload, paths, memory=memory)
        assert str(caught.value) == str(error)
    else:
        assert_same(count_files(workload, paths, memory=memory), expected)
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow"])
@pytest.mark.parametrize("memory", [100_000, 4_000_000, MEMORY])
def test_real_households_in_pieces(tmp_path: Path, kind: str, memory: int) -> None:
    schema, tables = load_detroit()
    tables = shuffled(tables, np.random.default_rng(7))
    paths = {name: tmp_path / f"{name}.{kind}" for name in tables}
    for name, table in tables.items():
        if kind == "csv.gz":
            write_table(table, tmp_path / f"{name}.csv")
            text = (tmp_path / f"{name}.csv").read_bytes()
            paths[name].write_bytes(gzip.compress(text, compresslevel=1))
        elif kind == "arrow":
            feather.write_feather(table, paths[name], chunksize=5000)
        else:
            write_table(table, paths[name])
    workload = Workload.of(schema, k=2)
    weights = np.arange(len(workload.blocks) * (schema.size_limit + 1)) % 7
    weights = weights.reshape(len(workload.blocks), -1)
    watch = Watch()
    streamed = count_files(workload, paths, memory=memory, weights=weights, progress=watch)
    expected = Counter(workload, weights=weights)
    expected.add(encode(schema, tables))
    assert_same(streamed, expected)
    assert (watch.parts == 1) == (memory == MEMORY)
    assert watch.calls[-1] == ("counting", expected.people)
    assert max(n for stage, n in watch.calls if stage == "reading") == 14853 + 31074


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    tables = homes()
    paths = {name: tmp_path / f"{name}.parquet" for name in tables}
    for name, table in tables.items():
        paths[name].mkdir()
        for index in range(3):
            part = table.slice(index * table.num_rows // 3, table.num_rows // 3 + 1)
            pq.write_table(
                part if index < 2 else table.slice(2 * (table.num_rows // 3)),
                paths[name] / f"{index}.parquet",
            )
    workload = Workload.of(HOMES)
    for name, path in paths.items():
        # The slices above overlap; what matters is that both ways see the same rows.
        whole = pq.read_table(path)
        keep = pc.index_in(whole["home"], whole["home"]) if name == "homes" else None
        if keep is not None:
            whole = whole.take(pc.unique(keep))
        for old in path.iterdir():
            old.unlink()
        pq.write_table(whole.slice(0, 100), path / "a.parquet")
        pq.write_table(whole.slice(100), path / "b.parquet")
    assert_same(count_files(workload, paths, memory=20_000), in_memory(workload, paths))
