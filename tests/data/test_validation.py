"""`draft` and `validate` in Python: what the commands say, as values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import kinfolk
from homes import HOMES, homes, written
from kinfolk.datasets import load_detroit
from kinfolk.errors import DataError, KinfolkError
from kinfolk.queries import validation
from kinfolk.schema import Schema
from release.small import FLAT, flat_people

RULED = Schema.from_text("""
group: {table: homes, id: hid, attributes: {cars: {values: [0, 1]}}}
individual: {table: people, group_id: hid, attributes: {age: {bins: [0, 18, 120], integer: true}}}
max_size: 2
roles: {column: who, head: {values: [h], min: 1, max: 1}, kid: {values: [k], min: 0, max: 1}}
never: [head.age < 16]
on_violation: drop
""")
TABLES = {
    "homes": pd.DataFrame({"hid": [1, 2, 3], "cars": [0, 1, 1]}),
    "people": pd.DataFrame(
        {"hid": [1, 1, 2, 3, 3], "age": [40, 9, 12, 30, 60], "who": ["h", "k", "h", "h", "x"]}
    ),
}


def test_what_there_is_in_the_tables() -> None:
    found = kinfolk.validate(RULED, TABLES)
    homes_, people = found.tables
    assert (homes_.name, homes_.read, homes_.kept, homes_.attributes) == ("homes", 3, 2, 1)
    assert (people.read, people.kept, people.categories) == (5, 3, 2)
    assert found.sizes == {1: 1, 2: 1}
    assert found.roles == {"head": 2, "kid": 1}
    assert found.rules == {"head.age < 16": 1}
    assert len(found.left_out()) == 2
    assert repr(found) == "Validation(2 homes, 3 people fit the schema; NOT PRIVATE)"


def test_large_files_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema, tables = load_detroit()
    rules = (*schema.never, "cars = 0 and COUNT = 3")
    strict = replace(schema, max_size=4, never=rules, on_violation="drop")
    paths = written(tmp_path, tables, {"households": "csv", "persons": "parquet"})
    whole = kinfolk.validate(strict, paths)
    assert sum(whole.rules.values()) > 0
    monkeypatch.setattr(validation, "LARGE", 1_000)
    monkeypatch.setattr(validation, "MEMORY", 2_000_000)
    assert vars(kinfolk.validate(strict, paths)) == vars(whole)
    few = written(tmp_path, {"households": tables["households"].slice(0, 9_000)})
    with pytest.raises(DataError, match="only part of the rows was checked"):
        kinfolk.validate(strict, {**paths, **few})


def test_flat_data_has_no_sizes() -> None:
    found = kinfolk.validate(FLAT, flat_people())
    assert [one.name for one in found.tables] == ["people"]
    assert found.sizes == found.roles == {}


def test_a_schema_may_be_a_path(tmp_path: Path) -> None:
    HOMES.to_yaml(tmp_path / "schema.yaml")
    assert kinfolk.validate(tmp_path / "schema.yaml", homes()).schema == HOMES
    with pytest.raises(KinfolkError, match="got dict instead of a schema"):
        kinfolk.validate({}, homes())  # type: ignore[arg-type]


def test_all_there_is_to_mend_is_said() -> None:
    bad = {**TABLES, "people": TABLES["people"].assign(age=[40, 9, 12, 300, -1])}
    with pytest.raises(DataError, match="300 lies outside the bins"):
        kinfolk.validate(RULED, bad)


def test_a_draft_is_a_schema_to_be_confirmed(tmp_path: Path) -> None:
    tables = {"my homes": TABLES["homes"], "people": TABLES["people"]}
    found = kinfolk.draft(tables)
    assert found.schema.table_names == ("my_homes", "people")
    assert found.schema.domain == "drafted"
    assert repr(found) == "Draft(3 attributes of my_homes and people)"
    found.write(tmp_path / "schema.yaml")
    assert "READ FROM THE DATA" in (tmp_path / "schema.yaml").read_text(encoding="utf-8")
    assert Schema.from_yaml(tmp_path / "schema.yaml") == found.schema


def test_names_given_are_kept_for_files(tmp_path: Path) -> None:
    for name, table in TABLES.items():
        table.to_csv(tmp_path / f"{name}-2011.csv", index=False)
    paths = {name: tmp_path / f"{name}-2011.csv" for name in TABLES}
    assert kinfolk.draft(paths).schema.table_names == ("homes", "people")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (TABLES["homes"], "got DataFrame"),
        (list(TABLES.values()), "got list"),
        ({"homes": TABLES["homes"]}, "got 1 of them"),
    ],
)
def test_a_draft_says_what_it_takes(given: object, said: str) -> None:
    with pytest.raises(KinfolkError, match=rf"two tables by name, that of groups first: .*{said}"):
        kinfolk.draft(given)  # type: ignore[arg-type]


def test_swapped_tables_are_recognised() -> None:
    swapped = {"homes": TABLES["people"], "people": TABLES["homes"]}
    for tables in (swapped, {name: pa.Table.from_pandas(one) for name, one in swapped.items()}):
        with pytest.raises(DataError, match="homes and people seem to be swapped") as caught:
            kinfolk.validate(RULED, tables)
        assert len(caught.value.problems) == 1
    with pytest.raises(KinfolkError, match="seem to be swapped"):
        kinfolk.draft({"homes": homes()["people"], "people": homes()["homes"]})
