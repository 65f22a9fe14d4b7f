"""Warnings of bins that hold too much."""

from __future__ import annotations

import pytest

from kinfolk.schema import Schema
from kinfolk.schema.doubtful import wide_bins


def schema(age: str) -> Schema:
    return Schema.from_text(
        f"individual: {{table: people, attributes: {{x: {age}}}}}\nmax_size: 1\n"
    )


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ("{bins: [0, 100]}", "a single bin"),
        ("{bins: [0, 20000, 5000000]}", "times as long"),
        ("{bins: [-5000000, 0, 20000, 30000]}", "times as long"),
        ("{bins: [0, 10, 20, 70, 80]}", "more than half"),
        ("{bins: [0, 10, 20, 70, 80], integer: true}", "more than half"),
    ],
)
def test_wide_bins_are_named(attribute: str, said: str) -> None:
    found = wide_bins(schema(attribute))
    assert len(found) == 1
    assert found[0].startswith("x of people has ")
    assert said in found[0]


@pytest.mark.parametrize(
    "attribute",
    [
        "{bins: [0, 18, 65, 120], integer: true}",
        "{bins: [0, 20], integer: true}",
        "{bins: [0, 5000, 10000, 20000, 40000, 500000], special: [0]}",
        "{values: [1, 2]}",
    ],
)
def test_others_are_not(attribute: str) -> None:
    assert wide_bins(schema(attribute)) == []


def test_crowded_bins_are_named_to_the_data_holder() -> None:
    own = schema("{bins: [0, 5000, 10000, 20000, 500000], special: [0]}")
    even = {("people", "x"): [25, 30, 30, 15, 900]}
    assert wide_bins(own, even) == []
    (first,) = wide_bins(own, {("people", "x"): [60, 20, 15, 5, 900]})
    assert "a bin 0 to 5000 with 60% of the rows" in first
    (tail,) = wide_bins(own, {("people", "x"): [25, 25, 25, 25, 0]})
    assert "a tail 20000 to 500000 with 25% of the rows" in tail
