"""The drafted file: what it says, what it marks, and that it fits its own tables."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from data.draft.confirming import confirmed
from kinfolk.data.draft import Draft, draft, draft_schema
from kinfolk.data.draft.page import MARKER
from kinfolk.data.encode import encode
from kinfolk.datasets import load_detroit
from kinfolk.errors import DataError, KinfolkError
from kinfolk.schema import Categorical, Numeric, Schema

GROUPS = 40


def homes_columns() -> dict[str, list[Any]]:
    return {
        "hh_id": [f"H{i:03}" for i in range(GROUPS)],
        "tenure": [("own", "rent")[i % 2] for i in range(GROUPS)],
        "region": [("01", "02", "10")[i % 3] for i in range(GROUPS)],
        "income": [None if i == 3 else (i * 1713) % 90_000 + 0.5 for i in range(GROUPS)],
        "farm": [i % 7 == 0 for i in range(GROUPS)],
        "np": [i % 3 + 1 for i in range(GROUPS)],
        "state": ["MI"] * GROUPS,
        "interviewed": [f"2019-03-{i % 28 + 1:02}" for i in range(GROUPS)],
        "address": [f"{i} Main St" for i in range(GROUPS)],
    }


def people_columns() -> dict[str, list[Any]]:
    rows = [(i, j) for i in range(GROUPS) for j in range(i % 3 + 1)]
    return {
        "hh_id": [f"H{i:03}" for i, _ in rows],
        "sporder": [j + 1 for _, j in rows],
        "sex": [None if (i + j) % 11 == 0 else (i + j) % 2 + 1 for i, j in rows],
        "hours": [-9 if (i + j) % 4 == 0 else (i * 7 + j * 13) % 70 for i, j in rows],
        "region": [("01", "02", "10")[i % 3] for i, _ in rows],
        "note": [None for _ in rows],
        "person_id": [5000 + 3 * k for k in range(len(rows))],
    }


def write_csv(path: Path, columns: dict[str, list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def check(draft: Draft, homes: Any, people: Any) -> Schema:
    """The draft parses, is marked, and fits the tables it came from."""
    schema = Schema.from_text(draft.text)
    assert schema.domain == "drafted"
    # Of two attributes, the size included, both are asked for however many groups there are.
    several = len(schema.group_attributes) + len(schema.individual_attributes) > 1
    marked = r"    [^ #]|  (id|group_id):|max_size:" + ("|workload:" if several else "")
    for line in draft.text.splitlines():
        read = re.match(marked, line)
        assert bool(read) == line.endswith(MARKER) or line.lstrip().startswith("#"), line
    names = schema.table_names
    encode(schema, {names[0]: homes, names[1]: people})
    return schema


def line_of(draft: Draft, name: str) -> str:
    found = re.findall(rf"^ +(?:# )?{re.escape(name)}: .*$", draft.text, re.MULTILINE)
    return str(found[0]).strip()


FORMATS = {
    "households.csv": write_csv,
    "households.csv.gz": lambda path, columns: pd.DataFrame(columns).to_csv(path, index=False),
    "households.parquet": lambda path, columns: pq.write_table(pa.table(columns), path),
    "households.arrow": lambda path, columns: feather.write_feather(pa.table(columns), path),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_kind_of_column_in_files(tmp_path: Path, name: str) -> None:
    homes, people = tmp_path / name, tmp_path / name.replace("households", "my people")
    FORMATS[name](homes, homes_columns())
    FORMATS[name](people, people_columns())
    draft = draft_schema(str(homes), people)
    schema = check(draft, homes, people)
    assert schema.table_names == ("households", "my_people")
    assert schema.group is not None
    assert (schema.group.id, schema.individual.group_id) == ("hh_id", "hh_id")
    assert schema.max_size == 3
    group, individual = schema.group_attributes, schema.individual_attributes
    assert list(group) == ["tenure", "region", "income", "farm"]
    assert group["tenure"] == Categorical(values=["own", "rent"])
    assert group["region"] == Categorical(values=["01", "02", "10"])
    assert group["farm"] == Categorical(values=[False, True])
    assert isinstance(group["income"], Numeric)
    assert group["income"].missing
    assert not group["income"].integer
    assert all(edge % 500 == 0 for edge in group["income"].bins)
    assert individual["sex"] == Categorical(values=[1, 2], missing=True)
    hours = individual["hours"]
    assert isinstance(hours, Numeric)
    assert (hours.special, hours.integer, hours.missing) == ((-9,), True, False)
    assert list(individual) == ["sex", "hours"]


def test_what_is_left_out_says_why() -> None:
    draft = draft_schema(pa.table(homes_columns()), pa.table(people_columns()))
    for name, why in {
        "np": "equals the number of members",
        "state": "same value in every row",
        "interviewed": "dates",
        "address": "own text",
        "sporder": "numbers the members",
        "note": "blank in every row",
        "person_id": "own number, as ids do",
    }.items():
        assert line_of(draft, name).startswith(f"# {name}: left out: ")
        assert why in line_of(draft, name)
    assert "# region: left out: it repeats households.region" in draft.text


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_frames(make: Any) -> None:
    homes, people = make(homes_columns()), make(people_columns())
    schema = check(draft_schema(homes, people), homes, people)
    assert schema.table_names == ("households", "persons")
    assert list(schema.group_attributes) == ["tenure", "region", "income", "farm"]


def test_csv_next_to_a_frame(tmp_path: Path) -> None:
    homes = write_csv(tmp_path / "hh.csv", homes_columns())
    people = pl.DataFrame(people_columns())
    assert check(draft_schema(homes, people), homes, people).table_names == ("hh", "persons")


def test_the_header_and_the_notes_warn() -> None:
    draft = draft_schema(pa.table(homes_columns()), pa.table(people_columns()))
    for text in (draft.text, " ".join(draft.notes)):
        for word in ("leaks", "codebook", "domain: declared", "READ FROM THE DATA"):
            assert word in text
    assert "only because one person has it" in draft.text
    assert any("guessed" in note and "hh_id" in note for note in draft.notes)
    named = draft_schema(pa.table(homes_columns()), pa.table(people_columns()), group_id="hh_id")
    assert any("guessed" in note for note in named.notes)


def test_ids_that_were_given_are_not_marked() -> None:
    tables = pa.table(homes_columns()), pa.table(people_columns())
    draft = draft_schema(*tables, group_id="hh_id", individual_group_id="hh_id")
    assert "  id: hh_id\n" in draft.text
    assert "  group_id: hh_id\n" in draft.text


def test_detroit() -> None:
    _, tables = load_detroit()
    draft = draft_schema(tables["households"], tables["persons"])
    schema = check(draft, tables["households"], tables["persons"])
    assert schema.max_size == 12
    assert "left out: it equals the number of members" in line_of(draft, "persons")
    assert "left out: it numbers the members" in line_of(draft, "member_id")
    age = schema.individual_attributes["age"]
    assert isinstance(age, Numeric)
    assert (age.bins[0], age.bins[-1], age.integer) == (0, 120, True)
    assert schema.individual_attributes["wkhp"].special == (-9,)  # type: ignore[union-attr]


def test_detroit_from_csv(tmp_path: Path) -> None:
    _, tables = load_detroit(frames="pandas")
    paths = [tmp_path / "households.csv", tmp_path / "persons.csv"]
    for path, table in zip(paths, tables.values(), strict=True):
        table.to_csv(path, index=False)
    typed = draft_schema(*tables.values())
    assert draft_schema(*paths).text == typed.text
    check(typed, *paths)


def test_detroit_roles_work_once_the_comment_signs_are_off() -> None:
    _, tables = load_detroit()
    text = draft_schema(tables["households"], tables["persons"]).text
    assert "# The column relate looks like it says who somebody is" in text
    schema = Schema.from_text(confirmed(text))
    assert schema.roles is not None
    assert {name: role.values for name, role in schema.roles.roles.items()} == {
        "head": (0,),
        "spouse": (1,),
        "child": (2, 3, 4),
        "parent": (6,),
    }
    assert list(schema.relations) == ["married_to", "has_child", "has_parent"]
    assert "relation" in schema.workload.levels
    encoded = encode(schema, tables)
    assert encoded.cleaning.groups_oversize == 0
    assert encoded.people == 31_074


def test_a_column_called_count_and_odd_names(tmp_path: Path) -> None:
    homes = {"hh_id": [1, 2, 3], "COUNT": [1, 2, 2], "yes: no": ["a", "b", "a"]}
    people = {"hh_id": [1, 2, 3], "true": ["x", "y", "x"], "": [0, 1, 2], "#1": [1, 2, 1]}
    paths = write_csv(tmp_path / "a.csv", homes), write_csv(tmp_path / "b.csv", people)
    draft = draft_schema(*paths)
    schema = check(draft, *paths)
    assert schema.count == "GROUP_COUNT"
    assert list(schema.group_attributes) == ["COUNT", "yes: no"]
    assert list(schema.individual_attributes) == ["true", "#1"]
    assert "# '': left out: it has no name." in draft.text


def test_no_group_attribute_is_left(tmp_path: Path) -> None:
    homes, people = pa.table({"hid": [1, 2]}), pa.table({"hid": [1, 2], "sex": ["m", "f"]})
    schema = check(draft_schema(homes, people), homes, people)
    assert schema.group_attributes == {}
    assert schema.workload.k == 2


def test_equal_file_names(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    homes = write_csv(tmp_path / "a" / "Data.csv", {"hid": [1, 2], "x": [1, 2]})
    people = write_csv(tmp_path / "b" / "data.csv", {"hid": [1, 2], "y": [1, 2]})
    assert check(draft_schema(homes, people), homes, people).table_names == (
        "households",
        "persons",
    )


def test_groups_without_members_are_noted_and_refused_by_encode() -> None:
    homes = pa.table({"hid": [1, 2, 3], "x": [1, 2, 1]})
    people = pa.table({"hid": [1, 2, 2], "y": [1, 2, 1]})
    draft = draft_schema(homes, people)
    assert any("1 group of households has nobody" in note for note in draft.notes)
    with pytest.raises(DataError, match="nobody"):
        encode(Schema.from_text(draft.text), {"households": homes, "persons": people})


def test_groups_beyond_the_largest_max_size() -> None:
    homes = pa.table({"hid": [1, 2], "x": [1, 2]})
    people = pa.table({"hid": [1] * 300 + [2], "y": [1, 2, 3] * 100 + [1]})
    draft = draft_schema(homes, people)
    assert check(draft, homes, people).max_size == 255
    assert any("more than 255 members" in note for note in draft.notes)
    with pytest.raises(KinfolkError, match="every group has more than 255 members"):
        draft_schema(homes.slice(0, 1), people.slice(0, 300))


def test_tables_by_name_are_called_so(tmp_path: Path) -> None:
    """Whatever their files are called."""
    homes = tmp_path / "a.parquet"
    pq.write_table(pa.table(homes_columns()), homes)
    tables = {"Häuser": homes, "my people": pa.table(people_columns())}
    drafted = Schema.from_text(draft(tables, group_id="hh_id", individual_group_id="hh_id").text)
    assert drafted.table_names == ("Hauser", "my_people")
    for wrong in ({"homes": homes}, [homes, homes]):
        with pytest.raises(KinfolkError, match="two tables by name, that of groups first"):
            draft(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("groups", "k"), [(50, 2), (9_000, 3)])
def test_triples_are_asked_for_where_there_are_groups_enough(groups: int, k: int) -> None:
    homes = pa.table({"hid": range(groups), "x": [i % 2 for i in range(groups)]})
    people = pa.table({"hid": range(groups), "y": [i % 3 for i in range(groups)]})
    made = draft_schema(homes, people)
    assert made.schema.workload.k == k
    scale = {50: "50", 9_000: "9,000"}[groups]
    assert f"# With about {scale} groups and 1 sets of three attributes" in made.text
    # One group more or less may change it.
    assert f"{{k: {k}, levels: [group, individual]}}  # READ FROM THE DATA: confirm" in made.text
