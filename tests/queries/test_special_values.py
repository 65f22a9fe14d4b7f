"""Questions about numbers with special values inside their bins."""

from __future__ import annotations

import pytest

from kinfolk.errors import KinfolkError
from kinfolk.queries.question_parser import parse
from kinfolk.queries.questions import Question
from kinfolk.schema import Schema

PEOPLE = Schema.from_text("""
individual:
  table: people
  attributes:
    cars: {bins: [-3, 0, 3, 9], integer: true, special: [-9, 0]}
    money: {bins: [-100, 0, 500, 900], special: [-999, 0, 500, 900]}
max_size: 1
workload: {k: 1}
""")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("cars >= 0", (1, 2, 4)),
        ("cars > 0", (1, 2)),
        ("cars < 0", (0,)),
        ("cars <= 0", (0, 4)),
        ("cars < 3", (0, 1, 4)),
        ("cars >= 1", (1, 2)),
        ("cars >= 2.5", (2,)),
        ("cars = 0", (4,)),
        ("cars = 0 to 9", (1, 2, 4)),
        ("cars = 1 to 2", (1,)),
        ("cars = -9", (3,)),
        ("cars = -3 to 0", (0, 4)),
        ("money < 0", (0,)),
        ("money >= 0", (1, 2, 4, 5, 6)),
        ("money < 500", (0, 1, 4)),
        ("money >= 500", (2, 5, 6)),
    ],
)
def test_comparisons(text: str, codes: tuple[int, ...]) -> None:
    (found,) = parse(PEOPLE, text)
    assert isinstance(found, Question)
    assert list(found.individual.values()) == [codes]


@pytest.mark.parametrize("number", ["2", "5"])
def test_parts_of_bins_are_still_refused(number: str) -> None:
    with pytest.raises(KinfolkError, match="not made of whole bins"):
        parse(PEOPLE, f"cars >= {number}")
