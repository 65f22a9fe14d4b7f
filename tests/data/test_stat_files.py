"""Files of Stata, SPSS and SAS: read with their labels, written with those of a schema."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from data.labelled import LABELLED, labelled_model
from kinfolk.data.decode import column_types
from kinfolk.data.draft import draft, draft_schema
from kinfolk.data.encode import encode
from kinfolk.data.stat_files import Labels, check_writable
from kinfolk.data.tables import TableFile, UnreadableError, read_source
from kinfolk.errors import KinfolkError
from kinfolk.models.histogram import Histogram
from kinfolk.models.records import Records
from kinfolk.release.release import Written, write_sample
from kinfolk.schema import Categorical, GroupTable, IndividualTable, Numeric, Schema, WorkloadSpec

READ = {"dta": pyreadstat.read_dta, "sav": pyreadstat.read_sav}
WRITE = {"dta": pyreadstat.write_dta, "sav": pyreadstat.write_sav}
FORMATS = pytest.mark.parametrize("form", ["dta", "sav"])


def drawn(folder: Path, form: str) -> Written:
    rng = np.random.default_rng(2)
    return write_sample(Records(model=labelled_model()), 60, folder, rng=rng, format=form)


@FORMATS
def test_what_is_written_is_what_csv_has(form: str, tmp_path: Path) -> None:
    theirs, ours = (encode(LABELLED, drawn(tmp_path, one).paths) for one in ("csv", form))
    for part in ("group", "individual", "role", "offsets"):
        assert np.array_equal(getattr(ours, part), getattr(theirs, part))


@FORMATS
def test_labels_are_there_for_others(form: str, tmp_path: Path) -> None:
    paths = drawn(tmp_path, form).paths
    homes, about = READ[form](paths["homes"])
    assert about.column_names == ["hid", "tenure", "garden", "region", "income", "people"]
    assert about.column_names_to_labels["tenure"] == "How the home is held"
    assert about.column_names_to_labels["hid"] == "Identifier of the home"
    labels = about.variable_value_labels
    assert labels["tenure"] == {1: "owned", 2: "rented", 3: "free of charge"}
    assert labels["garden"] == {0: "false", 1: "true"}
    assert labels["income"] == {-9: "refused"}
    # Stata labels whole numbers only.
    assert labels.get("region") == (
        {"ES51": "Catalu\u00f1a", "ES30": "Madrid"} if form == "sav" else None
    )
    assert homes["tenure"].isna().any()
    assert set(homes["tenure"].dropna()) == {1, 2, 3}
    assert set(homes["region"]) == {"ES51", "ES30"}
    people, about = READ[form](paths["people"])
    assert about.variable_value_labels["rel"] == {0: "head", 1: "child"}
    assert about.column_names_to_labels["marital"] == "Marital status <&>"
    assert people.loc[people["age"] < 16, "marital"].isna().all()


def test_spss_is_told_what_categories_are(tmp_path: Path) -> None:
    _, about = pyreadstat.read_sav(drawn(tmp_path, "sav").paths["people"])
    assert about.variable_measure["marital"] == "nominal"
    assert about.variable_measure["age"] == "scale"
    assert about.original_variable_types["age"] == "F11.0"


def test_a_type_follows_from_the_schema_and_not_from_the_values(tmp_path: Path) -> None:
    """A column without a blank in it is stored as one with blanks, if it may have some."""
    rng = np.random.default_rng(2)
    few = write_sample(Records(model=labelled_model()), 1, tmp_path, rng=rng, format="dta")
    _, about = pyreadstat.read_dta(few.paths["homes"])
    assert about.readstat_variable_types["tenure"] == "double"
    assert about.readstat_variable_types["people"] == "int32"


@FORMATS
def test_a_draft_has_the_labels_of_the_file(form: str, tmp_path: Path) -> None:
    paths = drawn(tmp_path, form).paths
    found = draft(paths).schema
    tenure = found.group_attributes["tenure"]
    assert isinstance(tenure, Categorical)
    assert tenure == LABELLED.group_attributes["tenure"]
    income = found.group_attributes["income"]
    assert isinstance(income, Numeric)
    assert (income.special, income.label(len(income.bins) - 1)) == ((-9,), "refused")
    assert found.individual_attributes["age"].title == "Age in years"
    assert found.individual_attributes["marital"].labels == ("single", "married")


@FORMATS
def test_roles_are_drafted_by_what_the_labels_say(form: str, tmp_path: Path) -> None:
    """Elsewhere 5 is a parent, but not in this file."""
    words = {1: "Head", 2: "Spouse", 3: "Child", 4: "Parent", 5: "Somebody else"}
    who = {"relate": [1, 2, 3, 1, 4, 5], "sex": [1, 2, 1, 2, 1, 2]}
    people = pd.DataFrame({"hid": [1, 1, 1, 2, 2, 2], **who})
    path = tmp_path / f"people.{form}"
    WRITE[form](people, path, variable_value_labels={"relate": words})
    text = draft_schema(pa.table({"hid": [1, 2], "x": [0, 1]}), path).text
    assert "#   parent: {values: [4], min: 0, max: 1}" in text
    assert "#   other: {values: [5], min: 0, max: 1}" in text


@FORMATS
def test_values_that_nobody_has_are_drafted_from_the_labels(form: str, tmp_path: Path) -> None:
    people = pd.DataFrame({"hid": [1, 1, 2, 2], "work": [1, 2, 2, 1], "age": [9, 30, 41, 55]})
    words = {"work": {1: "yes", 2: "no", 3: "no", 7: "not asked"}, "age": {998: "refused"}}
    path = tmp_path / f"people.{form}"
    WRITE[form](people, path, variable_value_labels=words)
    found = draft_schema(pa.table({"hid": [1, 2], "x": [0, 1]}), path).schema
    work, age = (found.individual_attributes[name] for name in ("work", "age"))
    assert isinstance(work, Categorical)
    assert work.values == (1, 2, 3, 7)
    assert work.labels == ("yes", "no (2)", "no (3)", "not asked")
    assert isinstance(age, Numeric)
    assert (age.special, age.label(age.size - 1)) == ((998,), "refused")


@FORMATS
def test_whatever_stands_for_nothing_is_blank(form: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1.0, np.nan, 3.0], "t": ["x", "", "z"]})
    path = tmp_path / f"t.{form}"
    given: dict[str, Any] = {"missing_ranges": {"a": [3]}} if form == "sav" else {}
    WRITE[form](table, path, **given)
    columns = read_source(path, ["a", "t"], name="t").columns
    assert columns["t"].to_pylist() == ["x", None, "z"]
    assert columns["a"].to_pylist() == [1.0, None, None if form == "sav" else 3.0]


@FORMATS
def test_dates_are_seen(form: str, tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"hid": [1, 2], "sex": [1, 2], "born": pd.to_datetime(["1990-01-01", None])}
    )
    WRITE[form](table, tmp_path / f"t.{form}")
    text = draft_schema(pa.table({"hid": [1, 2]}), tmp_path / f"t.{form}").text
    assert "born: left out: it holds dates or times" in text


@FORMATS
def test_it_is_read_piece_by_piece(form: str, tmp_path: Path) -> None:
    WRITE[form](pd.DataFrame({"a": np.arange(10.0), "b": ["x"] * 10}), tmp_path / f"t.{form}")
    with TableFile(tmp_path / f"t.{form}") as file:
        pieces = list(file.stream(["a"]).pieces(4))
    assert [piece.num_rows for piece in pieces] == [4, 4, 2]
    assert pa.concat_tables(pieces).column(0).to_pylist() == list(range(10))


def test_only_formats_that_choose_types_have_some(tmp_path: Path) -> None:
    schema = Schema.from_text(
        "{individual: {table: t, attributes: {a: {values: [1, 2]}}}, max_size: 1}"
    )
    table = pd.DataFrame({"a": np.array([1, 2], np.int32)})
    for form in WRITE:
        WRITE[form](table, tmp_path / f"t.{form}")
    assert column_types(schema, {"t": tmp_path / "t.sav"}) == {"t": {}}
    assert column_types(schema, {"t": tmp_path / "t.dta"}) == {"t": {"a": pa.int32()}}


def test_zeros_and_ones_are_true_and_false_where_there_is_no_other_way(tmp_path: Path) -> None:
    schema = Schema.from_text(
        "{individual: {table: t, attributes: {a: {values: [true, false]}}}, max_size: 1}"
    )
    pyreadstat.write_sav(pd.DataFrame({"a": [1, 0, 1]}), tmp_path / "t.sav")
    assert encode(schema, {"t": tmp_path / "t.sav"}).individual[:, 0].tolist() == [0, 1, 0]
    pyreadstat.write_sav(pd.DataFrame({"a": [1, 0, 2]}), tmp_path / "t.sav")
    with pytest.raises(KinfolkError, match="the schema says true/false"):
        encode(schema, {"t": tmp_path / "t.sav"})
    with pytest.raises(KinfolkError, match="the schema says true/false"):
        encode(schema, {"t": pa.table({"a": [1, 0, 1]})})


def test_a_file_without_labels_has_none(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    with TableFile(tmp_path / "t.csv") as file:
        assert file.labels == Labels()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"a": np.arange(1000.0)}), tmp_path / "t.sav")
    whole = (tmp_path / "t.sav").read_bytes()
    (tmp_path / "t.sav").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableError, match=r"t\.sav: cannot be read as SPSS"):
        read_source(tmp_path / "t.sav", ["a"], name="t")


def named(name: str, attribute: Categorical | None = None) -> Schema:
    one = attribute or Categorical(values=[1, 2])
    return Schema(
        group=GroupTable(table="homes", id="hid", attributes={}),
        individual=IndividualTable(table="people", group_id="hid", attributes={name: one}),
        max_size=2,
        workload=WorkloadSpec(k=1),
    )


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("dta", "household income"), ("dta", "a" * 33), ("dta", "1st"), ("dta", "if"),
        ("dta", "str12"), ("sav", "a-b"), ("sav", "_a"), ("sav", "With"), ("sav", "HID"),
    ],
)  # fmt: skip
def test_names_that_a_program_cannot_have_are_refused(form: str, name: str) -> None:
    with pytest.raises(KinfolkError, match=r"people: .* (in|differ).*--format csv or parquet"):
        check_writable(named(name), form)
    check_writable(named(name), "csv")


def test_names_that_it_can_have_are_not() -> None:
    check_writable(named("a" * 32), "dta")
    check_writable(named("a.b"), "sav")
    check_writable(named("gr\u00f6\u00dfe"), "dta")


def test_numbers_that_would_change_are_refused() -> None:
    with pytest.raises(KinfolkError, match="cannot hold exactly"):
        check_writable(named("a", Categorical(values=[1, 2**53 + 1])), "sav")


def test_a_long_label_is_cut(tmp_path: Path) -> None:
    schema = named("a", Categorical(values=[1, 2], labels=["x" * 200, "y"], title="\u00e9" * 100))
    model = Histogram.uniform(schema)
    for form, column, value in (("dta", 40, 200), ("sav", 100, 120)):
        paths = write_sample(
            Records(model=model), 5, tmp_path, rng=np.random.default_rng(1), format=form
        ).paths
        _, about = READ[form](paths["people"])
        assert about.column_names_to_labels["a"] == "\u00e9" * column
        assert about.variable_value_labels["a"][1] == "x" * value


def test_without_the_extra_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyreadstat.write_sav(pd.DataFrame({"a": [1]}), tmp_path / "t.sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(KinfolkError, match=r"t\.sav: .*pip install 'kinfolk\[files\]'"):
        read_source(tmp_path / "t.sav", ["a"], name="t")
    with pytest.raises(KinfolkError, match=r"--format dta: .*pip install 'kinfolk\[files\]'"):
        check_writable(LABELLED, "dta")
