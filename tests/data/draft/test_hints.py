"""Suggestions: roles, and group columns that look computed from the members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

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
        comment = f"    # The next line looks computed from the members: it equals {what}. If it is"
        lines = text.splitlines()
        place = next(i for i, line in enumerate(lines) if line.startswith(f"    {name}:"))
        assert lines[place - 1].startswith(comment)
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
            [20, 21, 25, 26, 36],
            {"head": [20], "spouse": [21, 23], "child": [25, 26, 27]},
        ),
        ("RELP", [0, 1, 2, 3, 10], {"head": [0], "spouse": [1], "child": [2, 3, 4]}),
        ("RELATE", [1, 2, 3, 3, 9], {"head": [1], "spouse": [2], "child": [3]}),
        ("rel", ["00", "01", "02", "03", "10"], {"head": ["00"], "spouse": ["01"]}),
        (
            "Relationship",
            ["Householder", "Husband or wife", "Child", "Adopted son", "Grandchild"],
            {"head": ["Householder"], "child": ["Adopted son", "Child"]},
        ),
    ],
)
def test_roles(name: str, codes: list[Any], roles: dict[str, list[Any]]) -> None:
    text = draft({"cars": RNG.integers(0, 4, 700)}, {name: np.array(codes)[RANK]})
    start, end = text.index("# roles:"), text.index("workload:")
    suggestion = text[start:end].replace("# ", "", 1).replace("\n# ", "\n")
    document = text[:start] + suggestion + text[end:]
    document = "".join(
        line for line in document.splitlines(keepends=True) if not line.startswith(f"    {name}:")
    )
    found = Schema.from_text(document).roles
    assert found is not None
    assert (found.column, found.others) == (name, "keep")
    assert found.roles["head"].min == found.roles["head"].max == 1
    for role, values in roles.items():
        assert list(found.roles[role].values) == values


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
