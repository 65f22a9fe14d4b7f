"""What is written, and what it means."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinfolk.datasets import load_schema
from kinfolk.errors import SchemaError
from kinfolk.schema import Schema
from kinfolk.schema.condition_evaluator import GroupValues
from kinfolk.schema.rules import Rule
from schema.ruled import parse_condition

TOWN = Schema.from_text("""
group:
  table: homes
  id: id
  attributes:
    cars: {values: [0, 1, 2], labels: [none, one, 2 or more]}
    race: {values: [1, 2]}
    rent: {bins: [0, 500, 900], labels: [low, high, 'not, asked'], special: [-9]}
individual:
  table: people
  group_id: id
  attributes:
    age: {bins: [0, 18, 65, 120], integer: true}
    race: {values: [1, 2]}
    work: {values: [self, self-employed, Self, "no"], missing: true}
    hours per week: {bins: [0, 40, 99], missing: true, special: [-9]}
    smokes: {values: [true, false], missing: true}
max_size: 3
roles: {column: relate, head: {values: [0], min: 1}, child: {values: [1, 2], max: 2}}
""")

SAME = [
    ("cars = 2 or more", "cars = 2"),
    ("cars = '2 or more'", "cars in (2)"),
    ("cars = NONE", "cars = 0"),
    ("cars in 0..1", "cars in (none, one)"),
    ("work = Self", 'work in ("Self")'),
    ("work != self-employed", "work not in ('self-employed')"),
    ("work = SELF-employed", "work = self-employed"),
    ("rent = not, asked", "rent = -9"),
    ("16 > age", "age < 16"),
    ("age + 2 < 18", "age < 16"),
    ("0 - age >= -16", "age <= 16"),
    ("age - head.age < 3", "age < head.age + 3"),
    ("work is not missing", "work not missing"),
    ("age < 1 and cars = 1 or age = 2", "((age < 1) and cars = 1) or age = 2"),
    ("smokes = true", "smokes in (TRUE)"),
    ("`hours per week` > 1e1", "hours per week > 10"),
    ("not (age = 1 and age = 2)", "NOT (age == 1 AND age = 2)"),
    ("relate = HEAD", "relate = 0"),
    ("relate in (head, child)", "relate in (0, child)"),
    ("nobody with age > 15 and cars = 0", "no person with (age > 15 and cars = 0)"),
]


@pytest.mark.parametrize(("text", "same"), SAME, ids=[text for text, _ in SAME])
def test_one_thing_written_in_two_ways(text: str, same: str) -> None:
    assert parse_condition(text, TOWN) == parse_condition(same, TOWN)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("head.work = head.smokes", "no values in common"),
        ("age is not missing", "never blank"),
        ("race = 1", "Write homes.race or people.race"),
        ("relate = 1", "1 and 2 all mean child"),
        ("age < 1e301", "too large"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        parse_condition(text, TOWN)


HOMES = GroupValues(
    offsets=np.array([0, 2, 3]),
    role=np.array([0, 1, 0]),
    group={"cars": np.array([0, 2]), "race": np.array([0, 1]), "rent": np.array([-9.0, 900])},
    individual={
        "age": np.array([40.0, 30, 15]),
        "race": np.array([0, 1, 1]),
        "work": np.array([4, 0, 1]),
        "hours per week": np.array([-9, np.nan, 40]),
        "smokes": np.array([2, 0, 1]),
    },
)


@pytest.mark.parametrize(
    ("rule", "first", "second"),
    [
        ("child.age > head.age - 12", True, False),
        ("head.age < 18", False, True),
        ("no person with age >= 16", False, True),
        ("rent < 500", False, False),
        ("rent = -9", True, False),
        ("rent != 900", True, False),
        ("rent not in (900)", True, False),
        ("rent = high", False, True),
        ("rent + 0 = -9", False, False),
        ("hours per week < 50", False, True),
        ("hours per week != 40", True, False),
        ("not hours per week = 40", True, False),
        ("work not in (self)", True, True),
        ("work not in (self, missing)", False, True),
        ("work != self", True, True),
        ("not work = self", True, True),
        ("homes.race = people.race", True, True),
        ("homes.race != people.race and cars = 0", True, False),
        ("COUNT = 1", False, True),
        ("COUNT >= 2 and relate = child and age > 20", True, False),
        ("age > 20 and no person with age > 35", False, False),
        ("cars = 0 and age = 30 or cars = 2 and age = 30", True, False),
    ],
)
def test_rules_on_two_homes(rule: str, first: bool, second: bool) -> None:
    """A couple of 40 and 30, whose rent was not asked; and somebody of 15."""
    assert Rule.parse(rule, TOWN).violated(HOMES).tolist() == [first, second]


PIECES = [
    "age",
    "cars",
    "relate",
    "head.",
    "child.age",
    "(",
    ")",
    "and",
    "or",
    "not",
    "in",
    "missing",
    "no",
    "person",
    "nobody",
    "with",
    "<",
    "<=",
    "=",
    "!=",
    "+",
    "-",
    "1",
    "64",
    "..",
    ",",
    "'",
    '"',
    "`",
    "2",
    "or",
    "more",
    "COUNT",
    "homes.race",
    "1e999",
    "1e300",
    "where",
    "is",
    "true",
    "é",
    "\x00",
]


@given(st.lists(st.sampled_from([*PIECES, " "]), max_size=12), st.sampled_from(["", " "]))
def test_nonsense_is_refused_with_a_message(pieces: list[str], gap: str) -> None:
    text = gap.join(pieces)
    with contextlib.suppress(SchemaError):
        parse_condition(text, TOWN)


@pytest.mark.parametrize("text", ["(" * 5000 + "age < 1", "not " * 5000 + "age < 1"])
def test_brackets_have_an_end(text: str) -> None:
    with pytest.raises(SchemaError, match="nested too deeply"):
        parse_condition(text, TOWN)


def test_rules_and_formulas_know_what_they_name() -> None:
    schema = load_schema("detroit")
    rule = Rule.parse("age < 16 and cars = no vehicle and COUNT = 1", schema)
    assert rule.scope == "person"
    names = [*schema.group_attributes, schema.count]
    assert [names[p] for p in rule.group_positions] == ["cars", "COUNT"]
    assert [list(schema.individual_attributes)[p] for p in rule.individual_positions] == ["age"]
    assert rule.cells is not None
    assert [ref.name for ref in rule.cells.refs] == ["age", "cars", "COUNT"]
    assert rule.cells.every.shape == (10, 7, len(schema.sizes))
