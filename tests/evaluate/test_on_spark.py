"""Tables that Spark reads are judged as those of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from homes import HOMES, homes, written
from kinfolk import evaluate, load_detroit
from kinfolk.cli.main import run
from kinfolk.data import spark_session
from kinfolk.errors import DataError, KinfolkError
from kinfolk.evaluate import sides
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from sparks import frames, needs_spark

pytestmark = [pytest.mark.slow, needs_spark]


def detroit() -> tuple[Schema, dict[str, pa.Table], dict[str, pa.Table]]:
    """Real households; and as synthetic ones some of them, with persons who live nowhere."""
    schema, tables = load_detroit()
    made = {**tables, "households": tables["households"].slice(500, 9_000)}
    return schema, tables, made


def in_pieces(folder: Path, tables: dict[str, pa.Table]) -> Path:
    """Folders of Parquet files, a small one first, which Spark would read last."""
    for name, table in tables.items():
        (folder / f"{name}.parquet").mkdir(parents=True)
        for part, rows in enumerate((table.slice(0, 100), table.slice(100))):
            pq.write_table(rows, folder / f"{name}.parquet" / f"part-{part}.parquet")
    return folder


def test_figures_are_those_of_one_machine(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_session, "PIECE", 5_000)
    # As of large tables: groups are brought together on disk, and not all of them are held.
    monkeypatch.setattr(sides, "MEMORY", 2_000_000)
    monkeypatch.setattr(sides, "HELD", 1_000_000)
    schema, tables, made = detroit()
    schema.to_yaml(tmp_path / "schema.yaml")
    (tmp_path / "real").mkdir()
    real = written(tmp_path / "real", tables, {"households": "csv", "persons": "parquet"})
    named = ["--real", *map(str, real.values()), "--synthetic", str(in_pieces(tmp_path, made))]
    figures = {}
    for engine in ("local", "spark"):
        report = tmp_path / engine
        command = ["evaluate", str(tmp_path / "schema.yaml"), *named, "-o", str(report)]
        assert run([*command, "--engine", engine]) == 0
        figures[engine] = json.loads((report / "metrics.json").read_text())
    assert figures["spark"] == figures["local"]
    assert figures["spark"]["integrity"]["people_unlinked"] > 0
    assert figures["spark"]["looked_at"]["real"] < figures["spark"]["real"]["groups"]


def test_dataframes_are_judged_beside_others(spark: Any) -> None:
    schema, tables, made = detroit()
    asked = Workload.of(schema, k=1)
    here = evaluate(schema, real=tables, synthetic=made, workload=asked)
    for real, synthetic in ((frames(spark, tables), made), (tables, frames(spark, made))):
        there = evaluate(schema, real=real, synthetic=synthetic, workload=asked)
        assert there.metrics == here.metrics


def test_what_is_wrong_is_said_by_the_group(spark: Any) -> None:
    tables = homes()
    odd = pa.array([7, *tables["homes"].column("veh").to_pylist()[1:]])
    wrong = {**tables, "homes": tables["homes"].set_column(0, "veh", odd)}
    given = {"real": frames(spark, tables), "synthetic": frames(spark, tables)}
    for side in given:
        with pytest.raises(DataError) as caught:
            evaluate(HOMES, **{**given, side: frames(spark, wrong)})
        first = tables["homes"].column("home")[0]
        assert f"the {side} tables do not fit the schema" in str(caught.value)
        assert f"homes, home {first}, column veh" in str(caught.value)
    with pytest.raises(KinfolkError, match="people: Table is no Spark DataFrame"):
        evaluate(HOMES, **{**given, "real": {**given["real"], "people": tables["people"]}})


def test_a_folder_holds_each_table_once(spark: Any, tmp_path: Path) -> None:
    tables = homes()
    real = written(tmp_path, tables)
    judged = evaluate(HOMES, real=real, synthetic=str(tmp_path), engine="spark")
    assert judged.metrics["all"]["max"] == 0
    written(tmp_path, tables, "csv")
    with pytest.raises(
        KinfolkError, match=r"Spark finds .*/homes\.parquet and .*/homes\.csv\. Name"
    ):
        evaluate(HOMES, real=real, synthetic=tmp_path, engine="spark")
    with pytest.raises(KinfolkError, match=r"Spark finds neither .*/nowhere/homes\.parquet nor"):
        evaluate(HOMES, real=real, synthetic=tmp_path / "nowhere", engine="spark")


def test_flat_csv_is_read_as_well(spark: Any, tmp_path: Path) -> None:
    flat = Schema.from_text(
        "individual: {table: people, attributes: {sex: {values: [m, f]}}}\nmax_size: 1"
    )
    real = written(tmp_path, {"people": pa.table({"sex": ["m", "f", "x"]})}, "csv")
    with pytest.raises(DataError, match=r"people\.csv, line 4, column sex"):
        evaluate(flat, real=real, synthetic=tmp_path, engine="spark")
