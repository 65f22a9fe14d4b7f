"""The Python interface: what goes in comes out in kind, and nothing is spent by mistake."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kinfolk
from homes import HOMES, homes, written
from kinfolk.data.encode import encode
from kinfolk.data.frames import to_frame
from kinfolk.errors import KinfolkError
from kinfolk.methods.paper import hpd_fixed
from kinfolk.privacy.account import read_account
from kinfolk.privacy.certificate import check_certificate
from kinfolk.schema import Schema
from release.small import FAMILIES, FLAT, QUICK, families, flat_people, synthesizer

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


@pytest.mark.parametrize("kind", KINDS)
def test_frames_out_are_of_the_kind_that_went_in(kind: str) -> None:
    tables = {name: to_frame(table, kind) for name, table in homes().items()}
    maker = synthesizer().fit(tables)
    drawn = maker.sample(30)
    assert {type(table) for table in drawn.values()} == {KINDS[kind]}
    assert encode(HOMES, drawn).groups == 30
    for name, table in drawn.items():
        assert set(table.columns if kind != "pyarrow" else table.column_names) == set(
            homes()[name].column_names
        )
    other = maker.sample(30, frames="polars")
    assert {type(table) for table in other.values()} == {pl.DataFrame}


def test_as_many_groups_as_the_data_has_where_that_is_public() -> None:
    """Every home of this schema is kept, so that under replace their number is public."""
    drawn = synthesizer(neighbours="replace").fit(homes(70)).sample()
    assert drawn["homes"].num_rows == 70
    assert synthesizer(unit="person").fit(homes(70)).sample()["homes"].num_rows == 70
    maker = synthesizer(epsilon=4.0).fit(homes(70))
    (bought,) = (one for one in maker.certificate["spends"] if one["step"] == "groups")
    assert maker.sample()["homes"].num_rows == maker.release.groups
    assert abs(maker.release.groups - 70) < 6 * bought["sigma"]


def test_storage_types_are_kept_unless_they_speak_of_blanks() -> None:
    text = "individual: {table: p, attributes: {a: {values: [1, 2]}, b: {values: [1, 2], "
    text += "missing: true}, c: {values: [x]}}}\nmax_size: 1\nworkload: {k: 1}\n"
    narrow = {"a": pa.array([1, 2], pa.int8()), "b": pa.array([1, 2], pa.int8())}
    table = pa.table({**narrow, "c": pa.array(["x", "x"], pa.large_string())})
    drawn = synthesizer(Schema.from_text(text)).fit({"p": table}).sample(5)["p"]
    assert drawn.schema.types == [pa.int8(), pa.int64(), pa.large_string()]


@pytest.mark.parametrize(
    ("schema", "tables"), [(FLAT, flat_people()), (FAMILIES, families())], ids=["flat", "roles"]
)
@pytest.mark.parametrize("unit", ["household", "person"])
def test_flat_data_and_roles(schema: Schema, tables: Any, unit: str) -> None:
    maker = synthesizer(schema, unit=unit).fit(tables)
    assert encode(schema, maker.sample(40)).groups == 40
    assert check_certificate(maker.certificate) == []


def test_the_unit_of_flat_data_may_be_its_table() -> None:
    assert synthesizer(FLAT, unit="people").guarantee.unit == "individual"


def test_paths_do_as_well_as_frames(tmp_path: Path) -> None:
    HOMES.to_yaml(tmp_path / "schema.yaml")
    told: dict[str, Any] = {"unit": "person", "epsilon": 1.0, "delta": 1e-6, "seed": 4, **QUICK}
    paths = written(tmp_path, homes())
    by_path = kinfolk.Synthesizer(tmp_path / "schema.yaml", **told).fit(paths)
    by_frame = kinfolk.Synthesizer(HOMES, **told).fit(homes())
    for name, table in by_path.sample().items():
        assert table.equals(by_frame.sample()[name])


def test_a_seed_fixes_everything_and_protects_nobody() -> None:
    first, again = (synthesizer(seed=5).fit(homes()) for _ in range(2))
    assert first.sample()["people"].equals(again.sample()["people"])
    assert first.certificate["private"] is False
    other = synthesizer(seed=6).fit(homes())
    assert not first.sample()["people"].equals(other.sample()["people"])


def test_without_a_seed_nothing_repeats() -> None:
    first, again = (synthesizer(seed=None).fit(homes()) for _ in range(2))
    assert first.certificate["private"] is True
    assert not np.array_equal(first.release.model.probabilities, again.release.model.probabilities)
    assert not first.sample()["people"].equals(first.sample()["people"])


@pytest.mark.parametrize(
    "use",
    [
        lambda maker: maker.sample(),
        lambda maker: maker.certificate,
        lambda maker: maker.release,
        lambda maker: maker.save("model.kinfolk"),
    ],
    ids=["sample", "certificate", "release", "save"],
)
def test_nothing_before_fit(use: Any) -> None:
    with pytest.raises(KinfolkError, match=r"not fitted yet\. Call `fit`"):
        use(synthesizer())


@pytest.mark.parametrize("unit", ["group", "individual"])
@pytest.mark.parametrize(
    ("schema", "tables"), [(HOMES, homes()), (FLAT, flat_people()), (FAMILIES, families())]
)
def test_the_default_method_fits_every_kind_of_data(
    schema: Schema, tables: dict[str, Any], unit: str
) -> None:
    maker = kinfolk.Synthesizer(
        schema, unit=unit, epsilon=1.0, delta=1e-6, seed=1,
        components=8, parts=2, replicates=2, max_passes=2,
    )  # fmt: skip
    made = maker.fit(tables).sample(50)
    assert maker.release.method == "marginals"
    assert list(made) == list(schema.table_names)
    assert made[schema.table_names[0]].num_rows == 50
    assert maker.release.extra["replicates"].shape[0] == 2


def test_nothing_is_told_that_is_not_understood() -> None:
    for told, message in [
        ({"method": "mwem"}, "the method mwem has no components"),
        ({"method": "gan"}, "no method is called 'gan'. There are: marginals, hpd-fixed"),
        ({"method": hpd_fixed()}, "tell the method itself"),
        ({"unit": "village"}, "The privacy unit is 'village'"),
        ({"accounting": "none"}, "accounting is 'none'"),
        ({"seed": -1}, "seed: -1"),
        ({"epsilon": 0.0}, r"epsilon is 0\.0"),
        ({"delta": 2.0}, r"delta is 2\.0"),
        ({"delta": 0.0}, r"delta is 0\.0"),
        ({"delta": "small"}, "delta is 'small'"),
        ({"neighbours": "friends"}, "it can be 'add-remove' or 'replace'"),
        ({"unit": "person", "neighbours": "replace"}, "it can be 'in-place'"),
        ({"accounting": "paper"}, "The paper guarantees nothing for whole groups"),
    ]:
        with pytest.raises(KinfolkError, match=message):
            synthesizer(**told)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"ledger": "missing/ledger.jsonl"}, "missing: there is no such folder"),
    ],
)
def test_what_cannot_be_is_refused_before_the_data_is_read(
    told: dict[str, Any], message: str
) -> None:
    with pytest.raises(KinfolkError, match=message):
        synthesizer(**told).fit({"homes": "missing.csv", "people": "missing.csv"})


def test_a_ledger_is_continued_only_on_request(tmp_path: Path) -> None:
    maker = synthesizer(seed=None, ledger=tmp_path / "ledger.jsonl").fit(homes())
    with pytest.raises(KinfolkError, match="has been spending from this ledger"):
        maker.fit(homes())
    before = maker.release.model.probabilities
    maker.fit(homes(), resume=True)
    np.testing.assert_array_equal(maker.release.model.probabilities, before)
    assert len(maker.certificate["spends"]) == 8


def test_a_run_that_bought_nothing_leaves_no_ledger(tmp_path: Path) -> None:
    text = "group: {table: homes, id: home, attributes: {veh: {values: [0, 1, 2]}}}\nindividual: "
    text += "{table: people, group_id: home, attributes: {sex: {values: [m, f]}, a: {bins: ["
    text += ", ".join(map(str, range(400))) + "]}}}\nmax_size: 3\noversize: first\n"
    text += "workload: {k: 1}\n"
    tables = homes()
    tables["people"] = tables["people"].append_column("a", [[1] * tables["people"].num_rows])
    maker = kinfolk.Synthesizer(
        Schema.from_text(text),
        unit="group",
        epsilon=1.0,
        delta=1e-6,
        method="mwem",
        ledger=tmp_path / "ledger.jsonl",
    )
    with pytest.raises(KinfolkError, match="max_size"):
        maker.fit(tables)
    assert not (tmp_path / "ledger.jsonl").exists()


@pytest.mark.parametrize(
    ("method", "accounting"), [("marginals", "gaussian"), ("hpd-fixed", "zcdp"), ("pep", "zcdp")]
)
def test_a_method_has_the_tightest_accounting_by_itself(method: str, accounting: str) -> None:
    maker = kinfolk.Synthesizer(HOMES, unit="home", epsilon=1.0, delta=1e-6, method=method)
    assert maker.guarantee.accounting == accounting
    other = kinfolk.Synthesizer(
        HOMES, unit="home", epsilon=1.0, delta=1e-6, method=method, accounting="zcdp"
    )
    assert other.guarantee.accounting == "zcdp"


def test_what_selects_is_not_accounted_for_as_gaussian() -> None:
    with pytest.raises(KinfolkError, match="hpd-fixed also selects"):
        kinfolk.Synthesizer(
            HOMES, unit="home", epsilon=1.0, delta=1e-6, method="hpd-fixed", accounting="gaussian"
        )


def test_frames_of_spark_are_not_collected_on_one_machine(tmp_path: Path) -> None:
    """Collecting them would bring every row to the driver."""

    class DataFrame:
        __module__ = "pyspark.sql.connect.dataframe"

        def __getattr__(self, name: str) -> None:
            raise AssertionError(f"{name} was looked at")

    ledger = tmp_path / "ledger.jsonl"
    tables = {"homes": DataFrame(), "people": DataFrame()}
    with pytest.raises(KinfolkError, match="a DataFrame of Spark is not collected on one machine"):
        synthesizer(ledger=ledger).fit(tables, engine="local")
    with pytest.raises(KinfolkError, match=r"engine 'sparks' is unknown. Use one of local, spark"):
        synthesizer(ledger=ledger).fit(tables, engine="sparks")
    assert not ledger.exists()


def test_ctrl_c_waits_for_the_step_and_keeps_what_there_is(tmp_path: Path) -> None:
    """A real signal, sent in the middle; resuming ends where an undisturbed run would have."""
    # Spark, in another test of the same process, may have put its own handler there.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ledger = tmp_path / "ledger.jsonl"
    maker = synthesizer(seed=None, ledger=ledger)
    told: list[tuple[str, int]] = []

    def press(doing: str, done: int, total: int) -> None:
        told.append((doing, done))
        if (doing, done) == ("rounds", 2):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        maker.fit(homes(), progress=press)
    assert told == [("counting", 0), ("counting", 1), ("rounds", 1), ("rounds", 2), ("stopping", 2)]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    stopped = maker.release
    assert encode(HOMES, stopped.sample(20)).groups == 20
    assert [spend["step"] for spend in stopped.certificate["spends"]] == [
        "groups",
        "people",
        "select 1",
        "measure 1",
        "select 2",
        "measure 2",
    ]
    assert check_certificate(stopped.certificate) == []
    spent = read_account(ledger).last.spends
    maker.fit(homes(), resume=True)
    assert read_account(ledger).last.spends[: len(spent)] == spent
    assert len(maker.certificate["spends"]) == 8
    assert maker.certificate["run"] == stopped.certificate["run"]


BLANKS = Schema.from_text("""
individual:
  table: people
  attributes:
    age: {bins: [0, 120], integer: true, missing: true}
    sex: {values: [1, 2], missing: true}
    own: {values: [true, false], missing: true}
    size: {values: [1, 2]}
    rate: {bins: [0, 1], missing: true}
max_size: 1
workload: {k: 1}
""")


def test_whole_numbers_with_blanks_come_back_as_whole_numbers() -> None:
    people = pd.DataFrame(
        {
            "age": pd.array([1, None] * 20, "Int64"),
            "sex": pd.array([None, 2] * 20, "Int8"),
            "own": pd.array([True, None] * 20, "boolean"),
            "size": [1, 2] * 20,
            "rate": [0.5, None] * 20,
        }
    )
    maker = synthesizer(BLANKS, unit="person").fit({"people": people})
    # One without a blank has the same types: they follow from the schema.
    for drawn in (maker.sample(200, seed=1), maker.sample(1, seed=1)):
        types = drawn["people"].dtypes.astype(str).to_dict()
        assert types == {
            "age": "Int64", "sex": "Int64", "own": "boolean", "size": "int64", "rate": "float64",
        }  # fmt: skip
    ages = maker.sample(200, seed=1)["people"]["age"]
    assert ages.isna().any()
    assert ages.notna().any()


@pytest.mark.parametrize("given", [pd.DataFrame({"a": [1]}), [1, 2], "people.csv", None])
def test_fit_says_what_it_takes(given: object) -> None:
    said = rf"fit got {type(given).__name__}\. It takes a dict with the tables homes, people"
    with pytest.raises(KinfolkError, match=said):
        synthesizer().fit(given)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    """The sum of a column says how many to draw."""
    release = synthesizer().fit(homes()).release
    wanted, seed = np.array([1, 2, 4]).sum(), np.int64(3)
    drawn = release.sample(wanted, seed=seed)
    assert [one.equals(drawn[name]) for name, one in release.sample(7, seed=3).items()] == [
        True
    ] * 2
    assert drawn["homes"].num_rows == 7


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda release: release.sample(3, where=5), "where: 5 is no text. Write it as 'region ="),
        (lambda release: release.answer(5), "got int instead of a question. Ask in words"),
        (lambda release: release.answer([None]), "got NoneType instead of a question"),
        (lambda release: release.sample(2.5), "groups: 2.5 is not a whole number"),
        (lambda _: synthesizer().plan("many"), "groups is 'many'. Use a"),
    ],
)
def test_the_wrong_kind_of_argument_is_told_what_is_taken(ask: Any, message: str) -> None:
    release = synthesizer().fit(homes()).release
    with pytest.raises(KinfolkError, match=re.escape(message)):
        ask(release)
