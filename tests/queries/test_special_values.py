"""Questions about numbers with special values inside their bins."""

from __future__ import annotations

import pytest

from kinfolk.errors import KinfolkError
from kinfolk.queries.values import codes_compared, read_value
from kinfolk.schema import Numeric

CARS = Numeric(bins=[-3, 0, 3, 9], integer=True, special=[-9, 0])
MONEY = Numeric(bins=[-100, 0, 500, 900], special=[-999, 0, 500, 900])


@pytest.mark.parametrize(
    ("attribute", "operator", "number", "codes"),
    [
        (CARS, ">=", "0", (1, 2, 4)),
        (CARS, ">", "0", (1, 2)),
        (CARS, "<", "0", (0,)),
        (CARS, "<=", "0", (0, 4)),
        (CARS, "<", "3", (0, 1, 4)),
        (MONEY, "<", "0", (0,)),
        (MONEY, ">=", "0", (1, 2, 4, 5, 6)),
        (MONEY, "<", "500", (0, 1, 4)),
        (MONEY, ">=", "500", (2, 5, 6)),
    ],
)
def test_comparisons(
    attribute: Numeric, operator: str, number: str, codes: tuple[int, ...]
) -> None:
    assert codes_compared("x", attribute, operator, number) == codes


@pytest.mark.parametrize(
    ("text", "codes"),
    [("0", (4,)), ("0 to 9", (1, 2, 4)), ("1 to 2", (1,)), ("-9", (3,)), ("-3 to 0", (0, 4))],
)
def test_values(text: str, codes: tuple[int, ...]) -> None:
    assert read_value("x", CARS, text, 0) == (codes, len(text))


def test_a_bin_begins_beside_its_special_value() -> None:
    assert codes_compared("x", CARS, ">=", "1") == (1, 2)


@pytest.mark.parametrize("number", ["2", "5", "2.5"])
def test_parts_of_bins_are_still_refused(number: str) -> None:
    with pytest.raises(KinfolkError, match="not made of whole bins"):
        codes_compared("x", CARS, ">=", number)
