"""Rules that a draft suggests: the data keep them, and none is in force before it is confirmed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from data.draft.confirming import confirmed
from kinfolk.data.draft import draft_schema
from kinfolk.data.draft.suggest_rules import MOST
from kinfolk.data.encode import encode
from kinfolk.datasets import load_detroit
from kinfolk.errors import DataError
from kinfolk.schema import Schema

HOMES = 600
RNG = np.random.default_rng(5)
SIZES = RNG.integers(1, 6, HOMES)
GROUP = np.repeat(np.arange(HOMES), SIZES)
RANK = np.concatenate([np.arange(size) for size in SIZES])
HEAD = np.repeat(RNG.integers(35, 80, HOMES), SIZES)
AGE = np.where(
    RANK == 0,
    HEAD,
    np.where(RANK == 1, HEAD - 3, np.maximum(0, HEAD - RNG.integers(21, 60, len(RANK)))),
)
WORK = np.where(RNG.random(len(AGE)) < 0.5, "employed", "at home").astype(object)
WORK[AGE < 16] = None
PEOPLE: dict[str, Any] = {
    "home": GROUP,
    "relate": np.array(["head", "spouse", "child"])[np.minimum(RANK, 2)],
    "age": AGE,
    "sex": RNG.integers(1, 3, len(AGE)),
    "work": WORK,
    "hours": np.where(WORK == "employed", RNG.integers(5, 60, len(AGE)), np.nan),
    "school": np.where(AGE < 3, -9, RNG.integers(0, 3, len(AGE))),
}
TABLES = {
    "households": pa.table(
        {
            "home": np.arange(HOMES),
            "kind": np.where(SIZES == 1, "single", "family"),
            "kids": np.bincount(GROUP[AGE < 18], minlength=HOMES),
            "oldest": HEAD[RANK == 0],
            "size": SIZES,
        }
    ),
    "persons": pa.table(PEOPLE),
}


def suggested(text: str) -> list[str]:
    return re.findall(r'^#   - "(.*)"  # READ FROM THE DATA: confirm', text, re.MULTILINE)


@pytest.fixture(scope="module")
def text() -> str:
    return draft_schema(*TABLES.values()).text


def test_a_code_for_nothing_is_not_meant_by_what_a_rule_leaves_over() -> None:
    """-9 is a value in a rule, so that `not in` has to name it."""
    rng = np.random.default_rng(2)
    grade = rng.integers(1, 9, len(AGE))
    grade[rng.random(len(AGE)) < 0.2] = -9
    army = np.where(np.isin(grade, (1, 2, 3, 4, 5, 6)), -9, rng.integers(1, 3, len(AGE)))
    people = pa.table({"home": GROUP, "grade": grade, "army": army})
    tables = {"households": TABLES["households"], "persons": people}
    text = draft_schema(*tables.values()).text
    assert "army != -9 and grade not in (-9, 7, 8)" in suggested(text)
    assert encode(Schema.from_text(confirmed(text)), tables).groups == HOMES


def test_what_a_rule_leaves_over_names_a_blank_where_there_are_some() -> None:
    """A blank is in no list, so that `not in` would speak of it."""
    rng = np.random.default_rng(2)
    grade = rng.integers(1, 9, len(AGE)).astype(object)
    grade[rng.random(len(AGE)) < 0.2] = None
    army = np.where(np.isin(grade, (1, 2, 3, 4, 5, 6)), -9, rng.integers(1, 3, len(AGE)))
    people = pa.table({"home": GROUP, "grade": pa.array(grade), "army": army})
    tables = {"households": TABLES["households"], "persons": people}
    text = draft_schema(*tables.values()).text
    assert "army != -9 and grade not in (7, 8, missing)" in suggested(text)
    assert encode(Schema.from_text(confirmed(text)), tables).groups == HOMES


def test_nothing_is_in_force(text: str) -> None:
    schema = Schema.from_text(text)
    assert (schema.never, schema.formulas) == ((), {})
    assert encode(schema, TABLES).groups == HOMES


def test_what_is_never_seen_is_suggested(text: str) -> None:
    found = suggested(text)
    for rule in (
        "age < 16 and work not missing",
        "age > 15 and work missing",
        "age < 3 and school != -9",
        "hours not missing and work = 'at home'",
        "hours missing and work = employed",
        "head.age < 35",
        "child.age > head.age - 12",
        "kind = family and COUNT < 2",
        "kind = single and COUNT > 1",
        "no person with age >= 35",
    ):
        assert rule in found
    assert len(found) <= MOST
    # What has nothing to do with each other is not said to exclude each other.
    assert not any("sex" in rule for rule in found)


def test_every_kind_of_household_has_its_sizes() -> None:
    """A column of types of households, as surveys have it: all that it says of sizes is said."""
    kinds = np.arange(1_000) % 5
    sizes = kinds + 1
    homes = pa.table({"hh_id": range(1_000), "hh_type": kinds})
    people = {"hh_id": np.repeat(np.arange(1_000), sizes), "sex": np.arange(sizes.sum()) % 2}
    found = suggested(draft_schema(homes, pa.table(people)).text)
    for kind in range(5):
        for sign, possible in (("<", kind > 0), (">", kind < 4)):
            assert (f"hh_type = {kind} and COUNT {sign} {kind + 1}" in found) == possible


def test_taken_as_they_are_they_fit_the_data_and_can_be_broken(text: str) -> None:
    schema = Schema.from_text(confirmed(text))
    assert len(schema.never) == len(suggested(text))
    assert encode(schema, TABLES).groups == HOMES
    ages = AGE.copy()
    ages[np.flatnonzero(AGE > 15)[1]] = 2
    people = pa.table({**PEOPLE, "age": ages})
    with pytest.raises(DataError, match="breaks the rule"):
        encode(schema, {**TABLES, "persons": people})


def test_formulas_are_suggested_where_they_give_what_is_there(text: str) -> None:
    assert 'With `derived: "count(age < 18)"` in its place it is checked' in text
    assert "`derived: head.age` in its place (once `head` is a role)" in text
    assert "    # size: {derived: count}  # READ FROM THE DATA: confirm" in text
    lines = confirmed(text)
    lines = re.sub(r"(    kids: \{.*derived: )true\}", r"\1count(age < 18)}", lines)
    lines = re.sub(r"(    oldest: \{.*derived: )true\}", r"\1head.age}", lines)
    schema = Schema.from_text(lines)
    assert list(schema.formulas) == ["kids", "oldest", "size"]
    assert encode(schema, TABLES).groups == HOMES


def test_detroit() -> None:
    tables = load_detroit()[1]
    text = draft_schema(*tables.values()).text
    found = suggested(text)
    assert 5 <= len(found) <= MOST
    assert any(rule.startswith("age < 16 and") for rule in found)
    schema = Schema.from_text(confirmed(text))
    assert len(schema.never) == len(found)
    assert encode(schema, tables).cleaning.groups_against_rules == 0


def test_chance_suggests_nothing() -> None:
    """Columns that have nothing to do with each other, in a table of some size."""
    rng = np.random.default_rng(1)
    people = pa.table(
        {
            "home": GROUP,
            "age": rng.integers(0, 90, len(GROUP)),
            "a": rng.choice(["x", "y", "z"], len(GROUP), p=[0.9, 0.08, 0.02]),
            "b": np.where(rng.random(len(GROUP)) < 0.02, np.nan, rng.integers(0, 4, len(GROUP))),
        }
    )
    homes = pa.table({"home": np.arange(HOMES), "c": rng.integers(0, 4, HOMES)})
    text = draft_schema(homes, people).text
    assert suggested(text) == []
    assert "never:" not in text


ODD = ["and", "it's", 'a "b"', "3+", "no, or yes", "Été", "missing", "(x)", "a: b", "#1"]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_columns_and_values_are_called(seed: int) -> None:
    """Every rule that is suggested can be read, and the data keep it."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(["a b", "no", "x-y", "été", "in", "COUNT", "age", "head.age"]).tolist()
    age = rng.integers(0, 90, len(GROUP))
    words = np.array(rng.permutation(ODD)[:4].tolist(), dtype=object)
    job = words[np.where(age < 16, 0, rng.integers(1, 4, len(GROUP)))]
    pay = np.where(job == words[1], np.nan, rng.integers(0, 9, len(GROUP)) / 2)
    other = words[np.where(job == words[2], 0, rng.integers(0, 4, len(GROUP)))]
    other[rng.random(len(GROUP)) < 0.1] = None
    columns = dict(zip(names, (age, job, pay, other), strict=False))
    tables = {
        "households": pa.table(
            {
                "home": np.arange(HOMES),
                names[4]: words[np.minimum(SIZES - 1, 3)],
                names[0]: SIZES % 2,
            }
        ),
        "persons": pa.table({"home": GROUP, **columns}),
    }
    text = draft_schema(*tables.values()).text
    schema = Schema.from_text(confirmed(text))
    assert len(schema.never) >= 4
    assert encode(schema, tables).groups == HOMES
