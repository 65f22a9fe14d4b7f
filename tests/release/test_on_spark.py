"""A release from Spark is the release from one machine; what Spark draws is what it draws."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kinfolk
from homes import HOMES, assert_same, homes, in_memory, written
from kinfolk.cli.main import run
from kinfolk.data.frames import write_table
from kinfolk.data.spark_session import spark_columns
from kinfolk.datasets import load_detroit
from kinfolk.errors import DataError, KinfolkError
from kinfolk.experiments.simulate import write_simulation
from kinfolk.models import base
from kinfolk.queries import count_spark
from kinfolk.queries.validation import one_attribute_each
from kinfolk.release.spark_sample import DrawTask, part_name
from kinfolk.schema import Categorical, Schema, WorkloadSpec
from release.small import synthesizer
from sparks import frames, needs_spark


def strict_detroit() -> tuple[Schema, dict[str, pa.Table]]:
    """Real households with roles, formulas and rules; large and impossible ones are dropped."""
    schema, tables = load_detroit()
    rules = (*schema.never, "cars = 0 and COUNT = 3")
    changes: dict[str, Any] = {"max_size": 4, "never": rules, "on_violation": "drop"}
    return replace(schema, workload=WorkloadSpec(k=1), **changes), tables


def maker(schema: Schema, ledger: Path | None = None) -> kinfolk.Synthesizer:
    quick = {"method": "hpd-fixed", "rounds": 2, "components": 5, "max_iterations": 2}
    promise = {"unit": "household", "epsilon": 1.0, "delta": 1e-9}
    return kinfolk.Synthesizer(schema, seed=1, ledger=ledger, **promise, **quick)


def same_model(one: kinfolk.Release, other: kinfolk.Release) -> bool:
    return np.array_equal(one.model.probabilities, other.model.probabilities)


@pytest.mark.slow
@needs_spark
def test_a_release_is_the_same_from_spark_and_from_one_machine(spark: Any, tmp_path: Path) -> None:
    schema, tables = strict_detroit()
    paths = written(tmp_path, tables, {"households": "csv", "persons": "parquet"})
    here = maker(schema, tmp_path / "here.jsonl").fit(paths).release
    there = maker(schema, tmp_path / "there.jsonl").fit(paths, engine="spark").release
    # The certificate has the hash of the ledger's last line, and so all that the ledger has.
    assert there.certificate == here.certificate
    assert same_model(there, here)
    assert there.types["persons"] == here.types["persons"]
    # What was begun on one is there for the other: the ledger knows the data by the same digest.
    with pytest.raises(KinfolkError, match="a run has been spending from this ledger"):
        maker(schema, tmp_path / "there.jsonl").fit(paths)
    again = maker(schema, tmp_path / "there.jsonl").fit(paths, resume=True).release
    assert again.certificate == here.certificate

    in_memory, given = maker(schema).fit(tables), frames(spark, tables)
    passing = maker(schema).fit(given)
    assert passing.certificate == in_memory.certificate
    assert same_model(passing.release, in_memory.release)
    # Spark's tables in, Spark's tables out: those of one machine.
    drawn = passing.sample(300, seed=5)
    alike = in_memory.sample(300, seed=5, frames="pyarrow")
    for name, frame in drawn.items():
        stored = spark_columns(alike[name].schema)[1]
        assert frame.toArrow().equals(alike[name].cast(stored))


@pytest.mark.slow
@needs_spark
def test_validation_is_the_same_on_spark(spark: Any, tmp_path: Path) -> None:
    schema, tables = strict_detroit()
    here, there = (kinfolk.validate(schema, one) for one in (tables, frames(spark, tables)))
    assert there.left_out() == here.left_out()
    assert here.cleaning.groups_against_rules > 0
    assert here.cleaning.groups_oversize > 0
    for name in ("tables", "cleaning", "sizes", "roles", "rules"):
        assert getattr(there, name) == getattr(here, name)
    assert there.notes == here.notes
    open_text = schema.to_yaml().replace("derived: head.age", "derived: null")
    undeclared = kinfolk.validate(Schema.from_text(open_text), frames(spark, tables))
    assert any("age_of_head seems computed" in note for note in undeclared.notes)
    homes_frame, people_frame = frames(spark, tables).values()
    with pytest.raises(DataError, match="households and persons seem to be swapped"):
        kinfolk.validate(schema, {"households": people_frame, "persons": homes_frame})


@pytest.mark.slow
@needs_spark
def test_csv_is_read_as_on_one_machine(spark: Any, tmp_path: Path) -> None:
    """Separators, quotes, blanks and line breaks; lines that cannot be split are refused."""
    said = Categorical(values=['x;"y"', "two\nlines"], missing=True)
    people = replace(HOMES.individual, attributes={**HOMES.individual.attributes, "said": said})
    schema = replace(HOMES, individual=people)
    files = written(tmp_path, homes(), "csv")
    ids = [line.split(",")[1] for line in files["homes"].read_text().splitlines()[1:]]
    cells = ['"x;""y"""', "", '""', '"two\nlines"']
    lines = [f"{home};m;{cells[at % 4]}" for at, home in enumerate(ids)]
    files["people"].write_text("\n".join(["home;sex;said", *lines, ""]))
    here, there = (kinfolk.validate(schema, files, engine=one) for one in ("local", "spark"))
    assert (there.tables, there.sizes) == (here.tables, here.sizes)
    workload = one_attribute_each(schema)
    assert_same(count_spark(workload, files), in_memory(workload, files))
    files["people"].write_text("\n".join(["home;sex;said", *lines, f"{ids[0]};m", ""]))
    with pytest.raises(KinfolkError, match="Spark fails while it counts the tables"):
        kinfolk.validate(schema, files, engine="spark")


@pytest.mark.slow
@needs_spark
@pytest.mark.parametrize("where", [None, "veh = 1", "any(sex = m)"])
def test_files_are_those_of_one_machine(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str | None
) -> None:
    monkeypatch.setattr(base, "BATCH", 97)
    release = synthesizer(Schema.from_text(HOMES.to_yaml() + "never: [COUNT = 3 and veh = 2]\n"))
    release = release.fit(homes_without_rule()).release
    told: list[int] = []
    drawing = {"groups": 400, "where": where, "seed": 4, "format": "parquet"}
    here = release.write(tmp_path / "here", **drawing)
    for _ in range(2):
        there = release.write(tmp_path / "there", engine="spark", progress=told.append, **drawing)
    assert (there.rows, there.acceptance, there.search) == (here.rows, here.acceptance, here.search)
    for name, path in there.paths.items():
        assert [one.name for one in sorted(path.iterdir())] == [part_name(at) for at in range(5)]
        assert pq.read_table(path).equals(pq.read_table(here.paths[name]))
    homes_drawn = pq.read_table(there.paths["homes"])
    assert homes_drawn["home"].to_pylist() == list(range(1, 401))
    stated = [
        json.loads((tmp_path / one / "privacy.json").read_text()) for one in ("here", "there")
    ]
    assert len(stated[1]["release"].pop("tables")) == 10
    stated[0]["release"].pop("tables")
    assert stated[0] == stated[1]
    certificate = str(tmp_path / "there" / "privacy.json")
    assert run(["certificate", certificate, "--allow", "seeded"]) == 0
    write_table(pa.table({"home": [1]}), there.paths["homes"] / part_name(3))
    assert run(["certificate", certificate, "--allow", "seeded"]) == 2
    assert sorted(one.name for one in (tmp_path / "there").iterdir() if one.is_dir()) == [
        "homes.parquet",
        "people.parquet",
    ]


def homes_without_rule() -> dict[str, pa.Table]:
    tables = homes()
    veh = pa.array(np.minimum(tables["homes"]["veh"].to_numpy(), 1))
    return {**tables, "homes": tables["homes"].set_column(0, "veh", veh)}


@pytest.mark.slow
@needs_spark
def test_what_fails_far_away_is_one_message(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    release = synthesizer().fit(homes()).release
    with pytest.raises(KinfolkError, match="where: "):
        release.sample(10, where="nobody = 1", frames="spark")
    broken = replace(DrawTask.of(release, 10, where=None, seed=1), described={"kind": "gone"})
    monkeypatch.setattr(DrawTask, "of", lambda *given, **told: broken)
    with pytest.raises(KinfolkError, match=r"^Spark fails while it draws the tables \(") as caught:
        release.write("unused", engine="spark", format="parquet")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@needs_spark
def test_the_page_in_the_docs(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[2] / "docs" / "spark.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    write_simulation("acs-red", tmp_path, groups=500, seed=1)
    # Java has a working directory of its own.
    for name in ("households.parquet", "persons.parquet"):
        code = code.replace(name, str(tmp_path / name))
    scope: dict[str, Any] = {}
    exec(code, scope)  # noqa: S102
    assert scope["synthetic"]["households"].count() == 1000
    assert scope["maker"].certificate["private"] is True
    printed = capsys.readouterr().out
    assert printed.startswith("Validation(500 households,")
    assert "Row(SEX=" in printed


@pytest.mark.parametrize("parts", [[[0, 1, 2, 3, 4]], [[4], [2, 0], [3, 1]]])
def test_tasks_draw_the_same_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, parts: list[list[int]]
) -> None:
    """Without Java: what a task does with the numbers of its batches."""
    monkeypatch.setattr(base, "BATCH", 97)
    pytest.importorskip("pyspark", reason="PySpark is missing: pip install 'kinfolk[spark]'")
    release = synthesizer().fit(homes()).release
    whole = release.sample(400, seed=4)
    folders = {name: str(tmp_path) + f"/{name}" for name in whole}
    for folder in folders.values():
        Path(folder).mkdir()
    reports = []
    for numbers in parts:
        task = DrawTask.of(release, 400, where=None, seed=4)
        given = [pa.record_batch([pa.array(numbers)], names=["id"])]
        reports += [json.loads(batch[0][0].as_py()) for batch in task.write(given, folders)]
        _, stored = spark_columns(task.columns()["people"])
        rows = pa.Table.from_batches(task.rows(given, "people", stored))
        assert set(rows["home"].to_pylist()) == {
            home for at in numbers for home in range(97 * at + 1, min(97 * at + 97, 400) + 1)
        }
    for name, folder in folders.items():
        assert pq.read_table(folder).equals(whole[name])
        told = [one["rows"] for one in reports if one.get("table") == name]
        assert sum(told) == whole[name].num_rows


def test_the_commands_say_what_spark_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model.kinfolk"
    synthesizer().fit(homes()).release.save(model)
    HOMES.to_yaml(tmp_path / "schema.yaml")
    schema, release = str(tmp_path / "schema.yaml"), str(tmp_path / "release")
    monkeypatch.setitem(sys.modules, "pyspark", None)
    promise = ["--unit", "household", "--epsilon", "1", "--delta", "1e-6"]
    tables = ["s3a://bucket/homes", "s3a://bucket/people"]
    for command in (
        ["validate", schema, *tables],
        ["synth", schema, *tables, *promise, "-o", release],
        ["fit", schema, *tables, *promise, "-o", release],
        ["sample", str(model), "-o", release],
        ["evaluate", schema, "--real", *tables, "--synthetic", "s3a://bucket", "-o", release],
    ):
        assert run([*command, "--engine", "spark"]) == 2
        assert "Spark needs pyspark, which is not installed. Run: pip" in capsys.readouterr().err
    assert run(["sample", str(model), "-o", release, "--engine", "spark", "--format", "csv"]) == 2
    assert "format is 'csv', and Spark writes Parquet" in capsys.readouterr().err
    assert run(["validate", schema, *tables]) == 2
    assert "s3a://bucket/homes: is not on this machine" in capsys.readouterr().err
