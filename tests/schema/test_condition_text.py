"""Who is asked follows from the rules, and conditions are written as a rule writes them."""

from __future__ import annotations

import pytest

from data.labelled import LABELLED
from kinfolk.datasets import load_schema
from kinfolk.schema.rules import Rule
from kinfolk.schema.spelling import condition_text, negated_text, universe

DETROIT = load_schema("detroit")


def test_blanks_and_codes_that_are_no_answer_say_who_is_asked() -> None:
    asked = {name: universe(LABELLED, "individual", name) for name in ("age", "marital", "hours")}
    assert asked["age"] == ""
    assert asked["marital"] == "age >= 16"
    assert asked["hours"] == "age >= 16 and (marital not missing or age <= 70)"


def test_of_shipped_rules() -> None:
    assert universe(DETROIT, "individual", "esr") == "age >= 16"
    assert universe(DETROIT, "individual", "wkw") == "wkhp != -9"
    # These say what a value cannot be, and not that nobody was asked.
    assert universe(DETROIT, "group", "hht") == ""


@pytest.mark.parametrize("text", DETROIT.never)
def test_a_rule_is_written_as_it_was(text: str) -> None:
    rule = Rule.parse(text, DETROIT)
    again = Rule.parse(condition_text(rule.condition, DETROIT), DETROIT)
    assert again.condition == rule.condition


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("age < 16", "age >= 16"),
        ("head.age + 12 <= child.age", "head.age > child.age - 12"),
        ("tenure = 1", "tenure != 1"),  # one of them holds for a blank
        ("tenure not in (1, 2)", "tenure in (1, 2)"),
        ("garden != true", "garden = true"),
        ("tenure missing", "tenure not missing"),
        ("income > 5", "not (income > 5)"),  # -9 is not above 5, and not below either
        ("income = -9", "income != -9"),
        ("region = ES51 or garden = true", "region != ES51 and garden != true"),
        ("not (age < 16)", "age < 16"),
        ("no person with age >= 16", "not (no person with age >= 16)"),
    ],
)
def test_opposites(text: str, opposite: str) -> None:
    assert negated_text(Rule.parse(text, LABELLED).condition, LABELLED) == opposite
    Rule.parse(opposite, LABELLED)
