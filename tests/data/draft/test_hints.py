"""Suggestions: roles, and group columns that look computed from the members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from data.draft.confirming import confirmed
from kinfolk.data.draft import draft_schema
from kinfolk.data.encode import encode
from kinfolk.datasets import load_detroit
from kinfolk.schema import Schema

RNG = np.random.default_rng(3)
SIZES = RNG.integers(1, 6, 700)
GROUP = np.repeat(np.arange(700), SIZES)
RANK = np.concatenate([np.arange(size) for size in SIZES])
AGE = np.where(RANK < 2, RNG.integers(20, 90, len(GROUP)), RNG.integers(0, 30, len(GROUP)))
JOB = np.array(["none", "full", "part"])[RNG.integers(0, 3, len(GROUP))]


def count(mask: Any) -> Any:
    return np.bincount(GROUP[mask], minlength=700)


def draft(home: dict[str, Any], person: dict[str, Any]) -> str:
    homes = pa.table({"hid": np.arange(700), **home})
    people = pa.table({"hid": GROUP, "age": AGE, "job": JOB, **person})
    made = draft_schema(homes, people)
    encode(Schema.from_text(made.text), {"households": homes, "persons": people})
    return made.text


def test_computed_columns() -> None:
    head = RANK == 0
    text = draft(
        {
            "head_age": AGE[head],
            "head_job": JOB[head],
            "workers": count(JOB != "none"),
            "part_timers": count(JOB == "part"),
            "kids": count(AGE < 18),
            "seniors": np.where(np.arange(700) % 50 == 0, 0, count(AGE >= 65)),
            "cars": RNG.integers(0, 4, 700),
            "income": RNG.integers(0, 90_000, 700),
        },
        {},
    )
    for name, what in {
        "head_age": "the age of the first member",
        "head_job": "the job of the first member",
        "workers": "the number of members with job not 'none'",
        "part_timers": "the number of members with job 'part'",
        "kids": "the number of members with age under 18",
        "seniors": "the number of members with age of at least 65, in nearly every group",
    }.items():
        comment = f"    # The next line looks computed from the members: it equals {what}. Hence"
        lines = text.splitlines()
        place = next(i for i, line in enumerate(lines) if line.startswith(f"    {name}:"))
        assert lines[place - 1].startswith(comment)
        assert ", derived: true}  # READ FROM THE DATA" in lines[place]
    assert text.count("looks computed") == 6


def test_the_head_is_found_by_role_not_by_place() -> None:
    relate = np.where(SIZES[GROUP] == RANK + 1, 1, np.where(RANK == 0, 3, 4))
    head = relate == 1
    text = draft({"head_age": AGE[head]}, {"RELATE": relate})
    assert "it equals the age of the head." in text


@pytest.mark.parametrize(
    ("name", "codes", "roles"),
    [
        (
            "RELSHIPP",
            [20, 21, 25, 26, 29],
            {"head": [20], "spouse": [21, 23], "child": [25, 26, 27], "parent": [29]},
        ),
        ("RELP", [0, 1, 2, 3, 10], {"head": [0], "spouse": [1], "child": [2, 3, 4], "other": [10]}),
        ("RELATE", [1, 2, 3, 5, 9], {"head": [1], "spouse": [2], "child": [3], "parent": [5]}),
        ("rel", ["00", "01", "02", "10", "11"], {"head": ["00"], "spouse": ["01"]}),
        (
            "Relationship",
            ["Householder", "Husband or wife", "Child", "Adopted son", "Mother-in-law"],
            {"head": ["Householder"], "child": ["Adopted son", "Child"]},
        ),
        ("role", ["head", "child", "mother", "lodger", "other"], {"parent": ["mother"]}),
    ],
)
def test_roles(name: str, codes: list[Any], roles: dict[str, list[Any]]) -> None:
    text = draft({"cars": RNG.integers(0, 4, 700)}, {name: np.array(codes)[RANK]})
    schema = Schema.from_text(confirmed(text))
    found = schema.roles
    assert found is not None
    assert found.column == name
    assert found.roles["head"].min == found.roles["head"].max == 1
    for role, values in roles.items():
        assert list(found.roles[role].values) == values
    # One value that is left is a role; several are one without a value of its own.
    known = {value for role in found.roles.values() for value in role.values}
    left = set(np.array(codes).tolist()) - known
    assert found.others == ("keep" if left else "drop")
    assert len(left) != 1


def test_relations_are_suggested_with_the_roles() -> None:
    relate = np.array(["head", "spouse", "child", "parent", "other"])[RANK]
    text = draft({"cars": RNG.integers(0, 4, 700)}, {"relate": relate})
    schema = Schema.from_text(confirmed(text))
    assert schema.relations == {
        "married_to": (("head", "spouse"), ("spouse", "head")),
        "has_child": (("head", "child"), ("spouse", "child"), ("parent", "head")),
        "has_parent": (("child", "head"), ("child", "spouse"), ("head", "parent")),
    }
    assert "relation" in schema.workload.levels
    assert "relation" not in Schema.from_text(text).workload.levels
    alone = np.array(["head", "child", "other", "other", "other"])[RANK]
    text = draft({"cars": RNG.integers(0, 4, 700)}, {"relate": alone})
    assert Schema.from_text(confirmed(text)).relations == {
        "has_child": (("head", "child"),),
        "has_parent": (("child", "head"),),
    }
    none = np.array(["head", "lodger", "nurse", "friend", "guest"])[RANK]
    text = draft({"cars": RNG.integers(0, 4, 700)}, {"relate": none})
    assert "relations:" not in text


def test_people_in_group_quarters_head_a_household_of_one() -> None:
    relate = np.where(SIZES[GROUP] == 1, 17, np.array([0, 1, 2, 2, 5])[RANK])
    text = draft({"cars": RNG.integers(0, 4, 700)}, {"RELP": relate})
    found = Schema.from_text(confirmed(text)).roles
    assert found is not None
    assert list(found.roles["head"].values) == [0, 16, 17]


def test_roles_that_no_schema_can_have_are_not_suggested() -> None:
    """Groups can be made up in too many ways; the codes are left to the analyst."""
    homes = pa.table({"hid": [0, 1], "cars": [1, 2]})
    role = ["head", *["child"] * 120, *["nurse"] * 60, *["guest"] * 60, "head"]
    people = pa.table({"hid": [0] * 241 + [1], "role": role, "sex": [1, 2] * 121})
    text = draft_schema(homes, people).text
    assert "look the codes up in the codebook" in text
    assert "relations:" not in text


WEIGHTS = np.round(RNG.lognormal(7, 0.5, 700), 3)


@pytest.mark.parametrize("name", ["weight", "hh_weight", "HHWT", "WGTP", "sample_wgt", "DB090"])
def test_a_survey_weight_is_suggested(name: str) -> None:
    text = draft({"cars": RNG.integers(0, 4, 700), name: WEIGHTS}, {})
    assert "READ FROM THE DATA" in next(line for line in text.splitlines() if "# weight:" in line)
    plain, schema = Schema.from_text(text), Schema.from_text(confirmed(text))
    assert plain.group is not None
    assert schema.group is not None
    assert (plain.group.weight, schema.group.weight) == (None, name)


def test_what_is_no_weight_of_a_group() -> None:
    for name, values in {
        "weight_class": WEIGHTS,
        "weight": RNG.integers(0, 9, 700),
        "wgt": WEIGHTS - 2000,
        "WGTP17": WEIGHTS,
    }.items():
        assert "# weight:" not in draft({"cars": RNG.integers(0, 4, 700), name: values}, {})
    assert "# weight:" not in draft({"cars": [1, 2] * 350}, {"weight": RNG.normal(70, 9, len(AGE))})


def test_unknown_codes_get_an_example_only() -> None:
    text = draft({"cars": RNG.integers(0, 4, 700)}, {"relation": RNG.integers(50, 55, len(GROUP))})
    assert "# data: [50, 51, 52, 53, 54]" in text
    assert "#   head: {values: [50], min: 1, max: 1}" in text


def test_detroit_columns_that_the_shipped_schema_calls_derived() -> None:
    schema, tables = load_detroit()
    made = draft_schema(tables["households"], tables["persons"])
    note = next(note for note in made.notes if note.startswith("Look computed"))
    found = [name for name in schema.group_attributes if name in note]
    assert found == ["children", "race_id", "age_of_head"]
    assert all(schema.group_attributes[name].derived for name in found)
