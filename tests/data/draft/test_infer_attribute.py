"""What a single column becomes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kinfolk.data.draft.infer_attribute import judge
from kinfolk.data.draft.profile import LeftOut, profile
from kinfolk.schema import Attribute, Categorical, Numeric

RNG = np.random.default_rng(7)


def judged(
    cells: Any, *, untyped: bool = False, told: str | None = None, name: str = "column"
) -> Attribute | LeftOut:
    found = profile(name, pa.chunked_array([pa.array(cells)]), untyped=untyped)
    return found if isinstance(found, LeftOut) else judge(found, told=told)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2", "2"], Categorical(values=[1, 2])),
        (["2", "1.0", "1"], Categorical(values=[1, 2])),
        (["01", "02", "10"], Categorical(values=["01", "02", "10"])),
        (["1", "2", "3+"], Categorical(values=["1", "2", "3+"])),
        (["1", "n/a", None], Categorical(values=["1", "n/a"], missing=True)),
        (["true", "FALSE", None], Categorical(values=[False, True], missing=True)),
        (["yes", "no", "no"], Categorical(values=["no", "yes"])),
        (["1e999", "1", "2"], Categorical(values=["1", "1e999", "2"])),
        (["9" * 5000, "1", "2"], LeftOut("it holds free text")),
        (["2019-01-05", "2020-12-31"], LeftOut("it holds dates")),
        (["1/5/2019", "31.12.19 10:00"], LeftOut("it holds dates")),
        ([f"{number},5" for number in range(200)], LeftOut("its numbers have commas")),
        (["1,5", "2", "2"], Categorical(values=["1,5", "2"])),
        (["1", "1.0", "1"], LeftOut("it has the same value")),
        ([None, None], LeftOut("it is blank")),
        (["a\nb", "c", "c"], LeftOut("it holds free text")),
        (["x" * 81, "c", "c"], LeftOut("it holds free text")),
    ],
)
def test_csv_cells(cells: list[str | None], expected: Attribute | LeftOut) -> None:
    cells = pa.array(cells, pa.string())
    found = judged(cells, untyped=True)
    if isinstance(expected, LeftOut):
        assert isinstance(found, LeftOut)
        assert found.why.startswith(expected.why)
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([1.0, 2.0, None], Categorical(values=[1, 2], missing=True)),
        ([Decimal("1"), Decimal("2")], Categorical(values=[1, 2])),
        (["1", "2"], Categorical(values=["1", "2"])),
        (["true", "false"], Categorical(values=["false", "true"])),
        ([True, None], Categorical(values=[False, True], missing=True)),
        (pa.array(["b", "a"]).dictionary_encode(), Categorical(values=["a", "b"])),
        (
            [0.5, 2.5, None],
            Numeric(bins=[0, 0.5, 1, 1.5, 2, 2.5], decimals=1, missing=True),
        ),
    ],
)
def test_typed_cells(cells: Any, expected: Attribute) -> None:
    assert judged(cells) == expected


def test_many_texts_are_not_categories() -> None:
    texts = [f"t{k % 70}" for k in range(1000)]
    assert isinstance(judged(texts), LeftOut)
    told = judged(texts, told="categorical")
    assert isinstance(told, Categorical)
    assert told.size == 70
    names = [f"n{k % 30}" for k in range(50)]
    found = judged(names)
    assert isinstance(found, LeftOut)
    assert "names" in found.why
    more = judged([f"t{k % 300}" for k in range(1000)], told="categorical")
    assert isinstance(more, LeftOut)
    assert "256" in more.why


def test_a_stray_cell_among_numbers_is_pointed_out() -> None:
    found = judged([*(str(k % 90) for k in range(1000)), "unknown"], untyped=True)
    assert isinstance(found, LeftOut)
    assert "the cell 'unknown' is not a number" in found.why


def test_sentinels() -> None:
    hours = RNG.integers(0, 80, 500)
    found = judged(np.where(np.arange(500) % 5 == 0, -9, hours))
    assert isinstance(found, Numeric)
    assert found.special == (-9,)
    # The same number among other negative ones is an amount.
    change = judged(np.where(np.arange(500) % 5 == 0, -9, hours - 40))
    assert isinstance(change, Numeric)
    assert change.special == ()
    income = judged(np.where(np.arange(500) % 5 == 0, 9_999_999, hours * 1000))
    assert isinstance(income, Numeric)
    assert income.special == (9_999_999,)
    # Once is not a code.
    rare = judged([-9, *hours.tolist()])
    assert isinstance(rare, Numeric)
    assert rare.special == ()
    assert rare.bins[0] <= -9


def test_ids_weights_and_dates_in_numbers() -> None:
    for cells, name, why in (
        (list(range(100, 130)), "column", "ids"),
        ([k * k * 1000 for k in range(30)], "column", "ids"),
        ([30, 7, 999], "case_id", "ids"),
        ([k % 400 for k in range(900)], "PWGTP17", "survey weight"),
        ([20190101 + k % 28 for k in range(100)], "column", "dates"),
    ):
        found = judged(cells, name=name)
        assert isinstance(found, LeftOut), cells
        assert why in found.why
    assert isinstance(judged(RNG.permutation(10**6)[:40]), Numeric)
    assert isinstance(judged(RNG.normal(size=40)), Numeric)


def test_few_amounts_are_not_codes() -> None:
    assert isinstance(judged([12_000, 53_000, 7_500, 90_000]), Numeric)
    assert isinstance(judged([12_000, 53_000] * 20), Categorical)


def test_numerical_by_metadata() -> None:
    cars = judged([0, 1, 2, 3, 1, 1], told="numerical")
    assert isinstance(cars, Numeric)
    assert cars.integer
    text = judged(["0", "1", "a"], untyped=True, told="numerical")
    assert isinstance(text, LeftOut)
    assert "the cell 'a' is not a number" in text.why
