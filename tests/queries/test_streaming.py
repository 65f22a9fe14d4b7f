"""Counting files piece by piece gives what counting in memory gives, and leaves nothing behind."""

import datetime
import gzip
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from generators import datasets, schemas
from homes import HOMES, assert_same, homes, in_memory, outcome, shuffled, written
from kinfolk.data import buckets
from kinfolk.data.decode import decode
from kinfolk.data.encode import encode
from kinfolk.data.frames import write_table
from kinfolk.datasets import load_detroit
from kinfolk.errors import DataError
from kinfolk.queries.added_marginals import with_numbers
from kinfolk.queries.counting import Counter
from kinfolk.queries.streaming import MEMORY, count_files
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema


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
    workload = with_numbers(Workload.of(schema))
    assert outcome(lambda: count_files(workload, paths, memory=memory)) == outcome(
        lambda: in_memory(workload, paths)
    )
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow"])
@pytest.mark.parametrize("memory", [1_500_000, MEMORY])
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
    weights = np.arange(len(workload.marginals) * (schema.size_limit + 1)) % 7
    weights = weights.reshape(len(workload.marginals), -1)
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
        pq.write_table(table.slice(0, 100), paths[name] / "a.parquet")
        pq.write_table(table.slice(100), paths[name] / "b.parquet")
    workload = Workload.of(HOMES)
    assert_same(count_files(workload, paths, memory=50_000), in_memory(workload, tables))


def test_more_rows_than_a_piece_holds_and_buckets_within_buckets(tmp_path: Path) -> None:
    """So little memory that a bucket of a bucket is still too large."""
    tables = homes(2500)
    workload = Workload.of(HOMES)
    watch = Watch()
    streamed = count_files(workload, written(tmp_path, tables), memory=25_000, progress=watch)
    assert_same(streamed, in_memory(workload, tables))
    assert watch.parts > buckets.FANOUT


def test_one_group_larger_than_the_memory(tmp_path: Path) -> None:
    tables = homes(5)
    tables["people"] = pa.table(
        {
            "sex": [*tables["people"]["sex"].to_pylist(), *["m"] * 5000],
            "home": [
                *tables["people"]["home"].to_pylist(),
                *[tables["homes"]["home"][3].as_py()] * 5000,
            ],
        }
    )
    workload = Workload.of(HOMES)
    streamed = count_files(workload, written(tmp_path, tables), memory=1000)
    assert_same(streamed, in_memory(workload, tables))


def test_flat_data(tmp_path: Path) -> None:
    schema = Schema.from_text(
        "individual: {table: rows, attributes: {a: {values: [1, 2]}, b: {values: [x, y]}}}\n"
        "max_size: 1\nworkload: {k: 2}\n"
    )
    rng = np.random.default_rng(1)
    letters = np.array(["x", "y"])[rng.integers(2, size=5000)]
    tables = {"rows": pa.table({"a": rng.integers(1, 3, size=5000), "b": letters})}
    workload = Workload.of(schema)
    paths = written(tmp_path, tables, "csv")
    watch = Watch()
    streamed = count_files(workload, paths, memory=200_000, progress=watch)
    assert_same(streamed, in_memory(workload, tables))
    assert watch.parts > 3
    wrong = tables["rows"].set_column(1, "b", pa.array([*letters[:-2], "z", "z"]))
    with pytest.raises(DataError, match=r"rows.csv, line 5000, column b: .*2 such rows"):
        count_files(workload, written(tmp_path, {"rows": wrong}, "csv"), memory=200_000)


Ids = Callable[[list[int]], pa.Array]
IDS: dict[str, tuple[Ids, Ids, str]] = {
    "whole and decimal numbers": (pa.array, lambda n: pa.array(n, pa.float64()), "parquet"),
    "numbers of two widths": (
        lambda n: pa.array(n, pa.uint64()),
        lambda n: pa.array(n, pa.int16()),
        "parquet",
    ),
    "fractions": (
        lambda n: pa.array([x / 8 for x in n]),
        lambda n: pa.array([x / 8 for x in n], pa.float32()),
        "parquet",
    ),
    "text": (
        lambda n: pa.array([f"é{x}" for x in n]),
        lambda n: pa.array([f"é{x}" for x in n]).dictionary_encode(),
        "parquet",
    ),
    "text and CSV": (lambda n: pa.array([f"h {x}" for x in n]),) * 2 + ("csv",),
    "numbers and CSV": (pa.array, lambda n: pa.array(n, pa.float64()), "csv"),
    "dates": (lambda n: pa.array([datetime.date(2000, 1, 1) + datetime.timedelta(x) for x in n]),)
    * 2
    + ("parquet",),
    "bytes": (lambda n: pa.array([b"\xff%d" % x for x in n]),) * 2 + ("parquet",),
    "UUIDs": (lambda n: pa.array([uuid.UUID(int=x << 60).bytes for x in n], pa.binary(16)),) * 2
    + ("parquet",),
}


@pytest.mark.parametrize("name", IDS)
def test_ids_of_any_type(tmp_path: Path, name: str) -> None:
    """Households in Parquet; people in Parquet or CSV."""
    ids, refs, kind = IDS[name]
    tables = homes()
    for table, make in (("homes", ids), ("people", refs)):
        column = make(tables[table]["home"].to_pylist())
        tables[table] = tables[table].set_column(1, "home", column)
    workload = Workload.of(HOMES)
    paths = written(tmp_path, tables, {"homes": "parquet", "people": kind})
    watch = Watch()
    assert_same(
        count_files(workload, paths, memory=50_000, progress=watch), in_memory(workload, paths)
    )
    assert watch.parts > 1


def test_equal_ids_share_a_hash_and_others_spread() -> None:
    numbers = pa.chunked_array([list(range(64_000))])
    text = numbers.cast(pa.string())
    for column, as_text in ((numbers, False), (text, True)):
        hashes = buckets.hash_ids(column, as_text=as_text)
        filled = np.bincount((hashes % np.uint64(64)).astype(int), minlength=64)
        assert filled.min() > 800
        assert filled.max() < 1200
    same = buckets.hash_ids(numbers, as_text=True) == buckets.hash_ids(text, as_text=True)
    assert same.all()
    sliced = buckets.hash_ids(text.slice(10, 5), as_text=True)
    assert sliced.tolist() == buckets.hash_ids(text, as_text=True)[10:15].tolist()
    zeros = buckets.hash_ids(pa.chunked_array([[0.0, -0.0]]), as_text=False)
    assert zeros[0] == zeros[1]
