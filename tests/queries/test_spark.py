"""Counting on a real local Spark gives what counting in memory gives."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from generators import FAMILY, RELATIONS, random_dataset
from homes import HOMES, MISTAKES, Tables, assert_same, homes, in_memory, shuffled, written
from kinfolk.data.decode import decode
from kinfolk.datasets import load_detroit
from kinfolk.errors import DataError, KinfolkError, redacted
from kinfolk.queries import spark_task as on_spark
from kinfolk.queries.added_marginals import with_numbers
from kinfolk.queries.counting import Counter
from kinfolk.queries.spark import SparkTables, count_spark
from kinfolk.queries.workload import Workload
from kinfolk.schema import Categorical, GroupTable, IndividualTable, Schema, WorkloadSpec
from sparks import frames, needs_spark


@needs_spark
def test_small_homes(spark: Any) -> None:
    """The one that always runs: most of its time is Spark's own start."""
    tables = homes()
    rent = pa.array(np.random.default_rng(1).uniform(0, 2000, tables["homes"].num_rows))
    tables["homes"] = tables["homes"].append_column("rent", rent)
    text = HOMES.to_yaml().replace("veh:", "rent: {bins: [0, 500, 2000]}\n    veh:")
    workload = with_numbers(Workload.of(Schema.from_text(text)))
    assert workload.finely
    counter = count_spark(workload, frames(spark, tables), partitions=2)
    assert_same(counter, in_memory(workload, tables))


@pytest.mark.slow
@needs_spark
def test_real_households(spark: Any) -> None:
    schema, tables = load_detroit()
    tables = shuffled(tables, np.random.default_rng(3))
    workload = Workload.of(schema, k=2)
    counter = count_spark(workload, frames(spark, tables), partitions=3)
    assert_same(counter, in_memory(workload, tables))


ODD = Schema(
    group=GroupTable(
        table="homes",
        id="home.no",
        attributes={"Veh": Categorical(values=[0, 1, 2]), "veh": Categorical(values=["`a`", "b"])},
    ),
    individual=IndividualTable(
        table="people",
        group_id="HOME.NO",
        attributes={"sex": Categorical(values=["m", "f"], missing=True)},
    ),
    max_size=4,
    oversize="first",
    workload=WorkloadSpec(k=2),
)
FAMILIES = replace(
    ODD, roles=FAMILY, relations=RELATIONS, workload=WorkloadSpec(k=2, levels=["relation", "group"])
)


@pytest.mark.slow
@needs_spark
@pytest.mark.parametrize("schema", [ODD, FAMILIES, replace(FAMILIES, max_size=2)])
@pytest.mark.parametrize("ids", [(pa.int64(), pa.int32()), (pa.float64(), pa.int64()), "text"])
def test_generated_homes(spark: Any, schema: Schema, ids: Any) -> None:
    """Odd column names, ids of several types, weights; members cut to the first ones."""
    rng = np.random.default_rng(schema.max_size)
    full = replace(schema, max_size=4)
    tables = shuffled(decode(random_dataset(full, groups=300, rng=rng), rng=rng), rng)
    for index, (name, column) in enumerate((("homes", "home.no"), ("people", "HOME.NO"))):
        dtype = pa.string() if ids == "text" else ids[index]
        where = tables[name].column_names.index(column)
        tables[name] = tables[name].set_column(where, column, tables[name][column].cast(dtype))
    workload = Workload.of(schema)
    weights = rng.integers(0, 5, size=(len(workload.marginals), schema.size_limit + 1))
    expected = in_memory(workload, tables, weights)
    given = frames(spark, tables)
    assert_same(count_spark(workload, given, weights=weights), expected)
    assert_same(count_spark(workload, given, weights=weights, partitions=1), expected)


@pytest.mark.slow
@needs_spark
def test_flat_data_and_files(spark: Any, tmp_path: Path) -> None:
    schema = Schema.from_text(
        "individual: {table: rows, attributes: {a: {values: [1, 2]}, b: {values: [x, y]}}}\n"
        "max_size: 1\nworkload: {k: 2}\n"
    )
    rng = np.random.default_rng(1)
    flat = decode(random_dataset(schema, groups=500, rng=rng), rng=rng)
    workload = Workload.of(schema)
    assert_same(count_spark(workload, frames(spark, flat)), in_memory(workload, flat))
    tables = homes()
    workload = Workload.of(HOMES)
    assert_same(count_spark(workload, written(tmp_path, tables)), in_memory(workload, tables))
    with pytest.raises(KinfolkError, match=r"homes: Spark cannot read .*nowhere as Parquet"):
        count_spark(workload, {"homes": "nowhere", "people": "nowhere"})


@pytest.mark.slow
@needs_spark
@pytest.mark.parametrize("spoil", MISTAKES)
def test_problems_come_back_as_messages(spark: Any, spoil: Callable[[Tables], Tables]) -> None:
    tables = spoil(homes())
    with pytest.raises(DataError) as expected:
        in_memory(Workload.of(HOMES), tables)
    with pytest.raises(DataError, match="only part of the rows was checked") as found:
        count_spark(Workload.of(HOMES), frames(spark, tables))
    ours, theirs = found.value.problems, expected.value.problems
    assert {p.fix for p in ours} == {p.fix for p in theirs}
    assert all(re.match(r"(homes|people), home (\d+|None), column ", p.where) for p in ours)
    assert "Traceback" not in str(found.value)


@pytest.mark.slow
@needs_spark
def test_rules_and_formulas(spark: Any) -> None:
    text = HOMES.to_yaml() + "never: [COUNT = 3 and veh = 2, sex = m and veh = 1]\n"
    tables = homes()
    dropping = Workload.of(Schema.from_text(text + "on_violation: drop\n"))
    counter = count_spark(dropping, frames(spark, tables), partitions=2)
    assert counter.cleaning.groups_against_rules > 0
    assert_same(counter, in_memory(dropping, tables))
    with pytest.raises(DataError) as found:
        count_spark(Workload.of(Schema.from_text(text)), frames(spark, tables), partitions=3)
    # Each rule once, although every task finds groups that break it.
    places = [problem.where.rsplit(", ", 1)[-1] for problem in found.value.problems]
    assert sorted(places) == ["never[0]", "never[1]"]


@pytest.mark.slow
@needs_spark
def test_executors_redact_too(spark: Any) -> None:
    tables = homes()
    tables["people"] = tables["people"].set_column(
        tables["people"].column_names.index("sex"),
        "sex",
        pa.array(["Mrs Smith"] * tables["people"].num_rows),
    )
    with redacted(), pytest.raises(DataError) as caught:
        count_spark(Workload.of(HOMES), frames(spark, tables))
    assert "Mrs Smith" not in str(caught.value)
    assert "[redacted] is not among the declared values" in str(caught.value)
    assert caught.value.problems[0].where.endswith(" [redacted], column sex")


@pytest.mark.slow
@needs_spark
def test_nobody_to_count_and_columns_that_lack(spark: Any) -> None:
    tables = homes()
    given = frames(spark, tables)
    strict = Workload.of(replace(HOMES, max_size=1, oversize="drop"))
    pairs = {**given, "people": given["people"].union(given["people"])}
    with pytest.raises(DataError, match="people: no group is left: 400 over max_size"):
        count_spark(strict, pairs)
    nothing = {name: frame.limit(0) for name, frame in given.items()}
    with pytest.raises(DataError, match="people: the table has no rows"):
        count_spark(Workload.of(HOMES), nothing)
    with pytest.raises(DataError, match="people, column sex: there is no such column"):
        count_spark(Workload.of(HOMES), {**given, "people": given["people"].drop("sex")})
    with pytest.raises(KinfolkError, match="homes: Table is no Spark DataFrame"):
        count_spark(Workload.of(HOMES), {**given, "homes": tables["homes"]})
    for partitions in (0, True, 1.5):
        with pytest.raises(KinfolkError, match="partitions is"):
            count_spark(Workload.of(HOMES), given, partitions=partitions)  # type: ignore[arg-type]


@pytest.mark.slow
@needs_spark
def test_rows_are_shuffled_once(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    given = frames(spark, homes())
    SparkTables.of(HOMES, given).cells(Workload.of(HOMES), None, None).explain()
    plan = capsys.readouterr().out
    counted, rows = plan.split("MapInArrow")
    assert counted.count("Exchange") == 1, "the sums"
    assert rows.count("Exchange") == 1, "the rows"


@pytest.mark.slow
def test_no_java(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="PySpark is missing: pip install 'kinfolk[spark]'")
    paths = {name: str(path) for name, path in written(tmp_path, homes()).items()}
    code = f"""
from kinfolk.errors import KinfolkError
from kinfolk.queries.spark import count_spark
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
try:
    count_spark(Workload.of(Schema.from_text({HOMES.to_yaml()!r})), {paths!r})
except KinfolkError as error:
    print(error)
"""
    environment = {**os.environ, "JAVA_HOME": str(tmp_path / "nowhere")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert "It needs Java 17 or later" in done.stdout


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(KinfolkError, match=r"needs pyspark.*pip install 'kinfolk\[spark\]'"):
        count_spark(Workload.of(HOMES), {"homes": None, "people": None})  # type: ignore[dict-item]


@pytest.mark.parametrize("chunk", [1, 3, 10, 1000])
def test_chunks_end_between_groups(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(on_spark, "CHUNK", chunk)
    rng = np.random.default_rng(chunk)
    keys = [None] * 4 + np.sort(rng.integers(60, size=300)).tolist() + [99] * 50
    table = pa.table({"key": pa.array(keys, pa.int64())})
    chunks = list(on_spark._whole_groups(iter(table.to_batches(max_chunksize=7))))
    assert pa.concat_tables(chunks).equals(table)
    seen = [set(part["key"].to_pylist()) for part in chunks]
    assert sum(map(len, seen)) == len(set().union(*seen))
    assert len(chunks) > 1 or chunk == 1000


def test_a_task_counts_what_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Spark: the rows of both tables in one, sorted by key, kind and row."""
    pytest.importorskip("pyspark", reason="PySpark is missing: pip install 'kinfolk[spark]'")
    monkeypatch.setattr(on_spark, "CHUNK", 50)
    tables = homes()
    wide = []
    for kind, (name, columns) in enumerate(HOMES.columns.items()):
        table = tables[name].select(list(columns))
        wide.append(
            pa.table(
                {
                    "kind": [kind] * table.num_rows,
                    "key": table["home"],
                    "row": range(table.num_rows),
                    **{f"{kind}_{i}": table[column] for i, column in enumerate(columns)},
                }
            )
        )
    order = [(name, "ascending") for name in ("key", "kind", "row")]
    rows = pa.concat_tables(wide, promote_options="default").sort_by(order)
    workload = Workload.of(HOMES)
    part = on_spark.PartReader(
        schema=HOMES.to_yaml(), names=("homes", "people"), untyped=(False, False)
    )
    task = on_spark.CountTask(part=part, marginals=workload.marginals, weights=None)
    result = pa.Table.from_batches(task.run(rows.to_batches(max_chunksize=20)))
    found = dict(zip(result["cell"].to_pylist(), result["count"].to_pylist(), strict=True))
    expected: Counter = in_memory(workload, tables)
    assert [found.get(cell, 0) for cell in range(workload.size)] == expected.counts.tolist()
    assert (found[-1], found[-2]) == (expected.groups, expected.people)
