"""Bins of ages."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kinfolk.data.draft import draft_schema
from kinfolk.data.draft.ages import are_ages, is_top_coded
from kinfolk.schema import Numeric

RNG = np.random.default_rng(4)
FIVES = list(range(0, 85, 5))


def drafted(ages: np.ndarray, name: str = "age") -> tuple[Numeric, str]:
    homes = pa.table({"hid": np.arange(len(ages)), "cars": np.arange(len(ages)) % 3})
    people = pa.table({"hid": np.arange(len(ages)), name: ages, "sex": np.arange(len(ages)) % 2})
    made = draft_schema(homes, people)
    found = made.schema.individual_attributes[name]
    assert isinstance(found, Numeric)
    return found, made.text


def test_five_years_each_and_a_public_end() -> None:
    found, text = drafted(RNG.integers(0, 94, 3000))
    assert list(found.bins) == [*FIVES, 85, 90, 120]
    assert found.integer
    assert "or more; it has a bin of its own" not in text


def test_few_of_the_oldest_share_a_bin() -> None:
    ages = np.concatenate([RNG.integers(0, 70, 3000), RNG.integers(70, 99, 20)])
    assert list(drafted(ages)[0].bins) == [*range(0, 70, 5), 120]


def test_a_heap_at_the_end_has_a_bin_of_its_own() -> None:
    ages = np.minimum(RNG.integers(0, 110, 3000), 85)
    found, text = drafted(ages)
    assert list(found.bins) == [*FIVES, 85, 85.5]
    assert list(found.writable(len(found.bins) - 2)) == [85]
    assert "    # So many have 85 in the next line that it may mean that many or more" in text


def test_heaps_that_are_not_evident() -> None:
    assert is_top_coded(np.array([40, 30, 50, 40, 40, 100]))
    assert not is_top_coded(np.array([40, 30, 60, 40, 40, 100]))
    assert not is_top_coded(np.array([4, 3, 5, 4, 4, 10]))
    assert not is_top_coded(np.array([40, 100]))


def test_what_is_called_otherwise_is_cut_by_how_many_there_are() -> None:
    assert len(drafted(RNG.integers(0, 94, 3000), name="minutes")[0].bins) < 15
    # Months are not years.
    assert drafted(RNG.integers(0, 1200, 3000))[0].bins[-1] > 120


@pytest.mark.parametrize(
    ("name", "told"),
    [("AGE", True), ("head_age", True), ("edad", True), ("wage", False),
     ("agency", False), ("average", False), ("language", False)],
)  # fmt: skip
def test_names(name: str, told: bool) -> None:
    assert are_ages(name, np.arange(0.0, 90.0)) == told
