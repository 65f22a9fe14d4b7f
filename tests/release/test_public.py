"""Public tables as prior knowledge: what they change, what they lack, and who is told."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from homes import written
from kinfolk.cli.main import run
from kinfolk.data.encode import encode
from kinfolk.datasets import load_schema
from kinfolk.errors import DataError, KinfolkError
from kinfolk.experiments.simulate import simulate
from kinfolk.privacy.certificate import certificate_text, check_certificate
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.release.public import read_public
from kinfolk.release.release import Release
from kinfolk.release.synthesizer import Synthesizer
from kinfolk.release.verify import verify
from kinfolk.schema import Schema
from release.small import FAMILIES, families

ACS = load_schema("acs-red")
Tables = dict[str, pa.Table]


def town(seed: int, groups: int = 6000) -> Tables:
    return next(iter(simulate("acs-red", groups=groups, seed=seed)))


@pytest.fixture(scope="module")
def ours() -> Tables:
    return town(1)


@pytest.fixture(scope="module")
def theirs() -> Tables:
    """Another sample of the same people."""
    return town(2)


def misleading(tables: Tables) -> Tables:
    """The same households, with what goes together torn apart: everybody gets another's values."""
    rng = np.random.default_rng(1)
    people = tables["persons"]
    for at, name in enumerate(people.column_names):
        if name in ACS.individual_attributes:
            values = sorted(set(people[name].to_pylist()))
            wrong = pa.array([values[0]] * people.num_rows, people.schema.field(name).type)
            keep = pa.array(rng.random(people.num_rows) < 0.03)
            people = people.set_column(at, name, pc.if_else(keep, people[name], wrong))
    return {**tables, "persons": people}


def maker(epsilon: float = 0.1, schema: Schema = ACS, **told: Any) -> Synthesizer:
    settings: dict[str, Any] = {"components": 40, "parts": 2, "replicates": 0, "max_passes": 12}
    return Synthesizer(
        schema, unit="group", epsilon=epsilon, delta=1e-6, **{"seed": 1, **settings, **told}
    )


def mean_error(release: Release, tables: Tables) -> float:
    exact = Counter(Workload.of(ACS))
    exact.add(encode(ACS, tables))
    return float(np.abs(release.model.answer(exact.workload) - exact.shares).mean())


def test_another_sample_of_the_same_people_lowers_the_error(ours: Tables, theirs: Tables) -> None:
    without = maker(seed=3).fit(ours).release
    informed = maker(seed=3).fit(ours, public=theirs).release
    assert informed.certificate["release"]["prior"]["use"] != "none"
    assert "prior" not in without.certificate["release"]
    assert mean_error(informed, ours) < 0.6 * mean_error(without, ours)
    # Other marginals may be bought, for the same price.
    spent = [float(Fraction(one.certificate["spent"])) for one in (informed, without)]
    assert spent[0] == pytest.approx(spent[1])


def test_misleading_tables_do_little_harm(ours: Tables, theirs: Tables) -> None:
    without = maker(epsilon=1.0).fit(ours).release
    misled = maker(epsilon=1.0).fit(ours, public=misleading(theirs)).release
    assert mean_error(misled, ours) < 1.1 * mean_error(without, ours)


def test_the_certificate_says_who_is_not_protected(
    ours: Tables, theirs: Tables, tmp_path: Path
) -> None:
    folder = tmp_path / "public"
    folder.mkdir()
    paths = written(folder, theirs, {"households": "csv", "persons": "parquet"})
    release = maker().fit(ours, public=folder).release
    stated = release.certificate
    public = stated["run"]["public"]
    assert set(public["tables"]) == {"households", "persons"}
    assert public["groups"] == 6000
    assert check_certificate(stated) == []
    assert verify(stated, ACS) == []
    # What is bought may depend on whether there are public tables, and then they cannot be hidden;
    # the ledger knows of them in any case.
    hidden = {**stated, "run": dict(stated["run"]), "release": dict(stated["release"])}
    del hidden["run"]["public"], hidden["release"]["prior"]
    assert any("the method's settings and budget make it" in one for one in verify(hidden, ACS))
    lines = certificate_text(stated)
    assert "Unprotected  everybody in the public tables" in lines
    assert public["tables"]["persons"][:12] in lines
    # Other tables have another digest.
    other = tmp_path / "other"
    other.mkdir()
    written(other, town(3), "csv")
    again = maker().fit(ours, public=other).release.certificate["run"]["public"]
    assert again["tables"] != public["tables"]
    assert paths["persons"].exists()


def test_a_run_is_resumed_with_the_same_public_tables_only(
    ours: Tables, theirs: Tables, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.jsonl"
    first = maker(ledger=ledger).fit(ours, public=theirs).release
    for public, said in ((None, "not with no public tables"), (town(3), "not with the public")):
        with pytest.raises(KinfolkError, match=said):
            maker(ledger=ledger).fit(ours, public=public, resume=True)
    again = maker(ledger=ledger).fit(ours, public=theirs, resume=True).release
    assert np.array_equal(again.model.probabilities, first.model.probabilities)
    assert again.certificate["spent"] == first.certificate["spent"]


def test_a_run_without_public_tables_is_not_resumed_with_some(
    ours: Tables, theirs: Tables, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.jsonl"
    maker(ledger=ledger).fit(ours)
    with pytest.raises(KinfolkError, match="begun with no public tables"):
        maker(ledger=ledger).fit(ours, public=theirs, resume=True)


def test_public_tables_may_lack_columns(ours: Tables, theirs: Tables) -> None:
    less = {
        "households": theirs["households"].drop_columns(["FARM"]),
        "persons": theirs["persons"].drop_columns(["AGE", "MARST"]),
    }
    without = maker().fit(ours).release
    release = maker().fit(ours, public=less).release
    notes = release.certificate["run"]["public"]["notes"]
    assert "the public tables have no FARM, AGE, MARST" in notes
    assert mean_error(release, ours) < 1.15 * mean_error(without, ours)


RULED = Schema.from_text("""
group:
  table: homes
  id: home
  attributes: {veh: {values: [0, 1, 2]}, old: {derived: "count(age = old)", values: [0, 1, 2]}}
individual:
  table: people
  group_id: home
  attributes: {sex: {values: [m, f]}, age: {values: [young, old]}}
max_size: 2
never: [veh = 2 and COUNT = 1, sex = m and age = old]
workload: {k: 1}
""")
RULED_TABLES = {
    "homes": pa.table({"home": [1, 2, 3, 4], "veh": [2, 1, 0, 1]}),
    # 1 breaks a rule, and 4 is too large.
    "people": pa.table({"home": [1, 2, 2, 3, 4, 4, 4], "sex": ["m", "f", "f", *["f"] * 4]}),
}


def test_rules_about_what_is_there_are_kept_and_the_rest_is_said() -> None:
    asked = maker(schema=RULED).method.asks(Workload.of(RULED))
    unit = maker(schema=RULED).guarantee.unit
    found = read_public(RULED, RULED_TABLES, asked, unit=unit, size_weighted=False)
    assert found.groups == 2
    assert found.notes == (
        "the public tables have no old, age",
        "values that nobody in the public tables has: veh (1 of 3), sex (1 of 2)",
        "2 public groups are too large or break a rule, and were left out",
    )
    asks_veh = [
        at for at, one in enumerate(asked.marginals) if one.level == "group" and one.group == (0,)
    ]
    assert [found.rates[at].tolist() for at in asks_veh] == [[0.5, 0.5, 0.0]]
    about_age = [at for at, one in enumerate(asked.marginals) if 1 in one.individual]
    assert about_age
    assert not set(about_age) & set(found.rates)


def test_roles_and_ids_may_not_be_missing() -> None:
    tables = families()
    nobody = {**tables, "people": tables["people"].drop_columns(["who"])}
    with pytest.raises(DataError, match="the public tables do not fit the schema") as caught:
        maker(schema=FAMILIES).fit(tables, public=nobody)
    assert "column who" in str(caught.value)


def test_other_methods_refuse_public_tables(ours: Tables, theirs: Tables) -> None:
    synthesizer = Synthesizer(
        ACS, unit="group", epsilon=1.0, delta=1e-6, seed=1, method="independent"
    )
    with pytest.raises(KinfolkError, match="independent learns nothing from public tables"):
        synthesizer.fit(ours, public=theirs)


def test_a_folder_must_hold_the_tables(ours: Tables, tmp_path: Path) -> None:
    with pytest.raises(KinfolkError, match="there is no such folder"):
        maker().fit(ours, public=tmp_path / "nowhere")
    with pytest.raises(KinfolkError, match=r"no households\.csv or households\.parquet"):
        maker().fit(ours, public=tmp_path)


def test_private_tables_are_no_public_ones(
    ours: Tables, theirs: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is one of them: refused before there is a ledger, whether they are files or frames."""
    with pytest.raises(KinfolkError, match="hold the private table persons itself"):
        maker().fit(ours, public={**theirs, "persons": ours["persons"].to_pandas()})
    ACS.to_yaml(tmp_path / "schema.yaml")
    folder = tmp_path / "public"
    folder.mkdir()
    files = written(tmp_path, ours, "csv")
    written(folder, ours, "csv")
    promise = ["--unit", "household", "--epsilon", "0.1", "--delta", "1e-6"]
    where = ["--public", str(folder), "-o", str(tmp_path / "out")]
    inputs = [str(tmp_path / "schema.yaml"), *map(str, files.values())]
    assert run(["synth", *inputs, *promise, *where]) == 2
    assert "Nobody in public tables is protected" in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.glob("*.jsonl*"))


def test_on_the_command_line(
    ours: Tables, theirs: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ACS.to_yaml(tmp_path / "schema.yaml")
    folder = tmp_path / "public"
    folder.mkdir()
    written(folder, theirs, "parquet")
    files = written(tmp_path, ours, "csv")
    told = ["--components=20", "--parts=1", "--replicates=2", "--max-passes=6", "--seed=3"]
    promise = ["--unit", "household", "--epsilon", "0.1", "--delta", "1e-6"]
    where = ["--public", str(folder), "-o", str(tmp_path / "out")]
    inputs = [str(tmp_path / "schema.yaml"), *map(str, files.values())]
    assert run(["synth", *inputs, *promise, *told, *where]) == 0
    assert "Public tables: what they say was tilted" in capsys.readouterr().err
    stated = json.loads((tmp_path / "out" / "privacy.json").read_text("utf-8"))
    assert stated["release"]["prior"]["use"] in ("tilt", "free")
    assert stated["run"]["public"]["groups"] == 6000
