"""Rounded numbers: what single cells hide in the noise, all bins tell together."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk.data import shape_fit
from kinfolk.data.shapes import Shape
from kinfolk.schema import Numeric
from kinfolk.schema.bins import bin_of_cells, fine

HOURS = Numeric(bins=[0, 20, 30, 35, 40, 45, 50, 100], integer=True)
AGE = Numeric(bins=[0, 18, 40, 65, 120], integer=True)
AMOUNT = Numeric(bins=[0, 10, 25, 50, 75, 120, 500], integer=True)
CHILDREN = Numeric(bins=[0, 20], integer=True)


def bell(attribute: Numeric, middle: float, spread: float) -> np.ndarray:
    """(numbers,) frequencies of whole numbers."""
    numbers = np.arange(attribute.bins[0], attribute.bins[-1] + 1)
    heights = np.exp(-(((numbers - middle) / spread) ** 2) / 2)
    found: np.ndarray = heights / heights.sum()
    return found


def rounded(people: float) -> np.ndarray:
    """Hours: two thirds round to 5, half of these to 10."""
    exact = bell(HOURS, 38, 14)
    numbers = np.arange(exact.size)
    found = exact / 3
    for unit in (5, 10):
        to = np.minimum((numbers + unit // 2) // unit * unit, 100)
        found += np.bincount(to, weights=exact, minlength=exact.size) / 3
    return people * found


def one_heap(people: float) -> np.ndarray:
    found = 0.7 * people * bell(HOURS, 38, 10)
    found[40] += 0.3 * people
    return found


def mostly_none(people: float) -> np.ndarray:
    found = 0.4 * people * bell(CHILDREN, 6, 4)
    found[0] += 0.6 * people
    return found


def counted(attribute: Numeric, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts of cells and of bins."""
    cells = fine(attribute)
    first = [cells.writable(code).start for code in range(len(cells.bins) - 1)]
    found = np.add.reduceat(numbers, np.array(first) - int(attribute.bins[0]))
    return found, np.bincount(bin_of_cells(attribute, cells), weights=found)


def fitted(attribute: Numeric, numbers: np.ndarray, *, sigma: float, seed: int) -> np.ndarray:
    cells, bins = counted(attribute, numbers)
    noise = np.random.default_rng(seed).normal(0, sigma, cells.size)
    return Shape.fitted(attribute, cells + noise, sigma=sigma, totals=bins).shares


def smooth(
    monkeypatch: pytest.MonkeyPatch, attribute: Numeric, numbers: np.ndarray, **rest: float
) -> np.ndarray:
    """The same if people were known not to round."""
    with monkeypatch.context() as patch:
        patch.setattr(shape_fit, "ROUNDINGS", shape_fit.ROUNDINGS[:1])
        return fitted(attribute, numbers, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(8))
def test_multiples_of_five_are_found_where_none_stands_out(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    numbers, sigma = rounded(4500), 120.0
    cells, bins = counted(HOURS, numbers)
    # But for 30, 40 and 50, all are within 4 standard deviations of the noise.
    assert np.sort(cells)[-4] < 4 * sigma
    own = np.array(bin_of_cells(HOURS, fine(HOURS)))
    found = fitted(HOURS, numbers, sigma=sigma, seed=seed) * bins[own]
    before = smooth(monkeypatch, HOURS, numbers, sigma=sigma, seed=seed) * bins[own]
    assert np.abs(found - cells).sum() < 0.7 * np.abs(before - cells).sum()
    starts = fine(HOURS).bins[:-1]
    for number in (10, 20, 25, 30, 35, 40, 45, 50, 60):
        at = starts.index(number)
        assert found[at] > 2 * found[at + 1] / len(fine(HOURS).writable(at + 1))


@pytest.mark.parametrize("sigma", [5.0, 60.0, 120.0, 300.0, 3000.0])
@pytest.mark.parametrize(
    ("attribute", "numbers"),
    [
        (AGE, 8000 * bell(AGE, 40, 25)),
        (AMOUNT, 8000 * bell(AMOUNT, 30, 60)),
        (HOURS, one_heap(5000)),
        (CHILDREN, mostly_none(8000)),
        (HOURS, np.full(101, 0.2)),
    ],
    ids=["age", "amount", "one heap", "mostly none", "noise"],
)
def test_numbers_that_nobody_rounds_stay_smooth(
    monkeypatch: pytest.MonkeyPatch, attribute: Numeric, numbers: np.ndarray, sigma: float
) -> None:
    for seed in range(3):
        found = fitted(attribute, numbers, sigma=sigma, seed=seed)
        expected = smooth(monkeypatch, attribute, numbers, sigma=sigma, seed=seed)
        np.testing.assert_array_equal(found, expected)


def test_hardly_anybody_comes_near_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the noise hides how a tail goes on, it ends long before the limit that was named."""
    numbers = rounded(4500)
    numbers[62:] = 0
    starts = np.array(fine(HOURS).bins[:-1])

    def near_limit() -> float:
        found = [fitted(HOURS, numbers, sigma=300, seed=seed) for seed in range(10)]
        return float(np.mean([shares[starts >= 88].sum() for shares in found]))

    assert near_limit() < 0.01
    with monkeypatch.context() as patch:
        patch.setattr(shape_fit, "NEAR_LIMIT", 1.0)
        assert near_limit() > 0.025


def test_a_heap_comes_on_top_of_rounding() -> None:
    numbers = rounded(4500)
    numbers[48] += 700
    numbers[40] += 2000
    own = np.array(bin_of_cells(HOURS, fine(HOURS)))
    _, bins = counted(HOURS, numbers)
    found = fitted(HOURS, numbers, sigma=60, seed=0) * bins[own]
    starts = fine(HOURS).bins[:-1]
    for number in (40, 48):
        assert abs(found[starts.index(number)] / numbers[number] - 1) < 0.25
    assert found[starts.index(20)] > 3 * found[starts.index(21)]


@pytest.mark.parametrize(
    "attribute",
    [
        Numeric(bins=[0, 20, 30, 35, 40, 45, 50, 100], integer=True, special=[0, 40, 41, 60]),
        Numeric(bins=[-30, -5, 0, 5, 6, 1000], integer=True, special=[-30, 999]),
        Numeric(bins=[0, 5, 60, 70, 5000], decimals=0),
        Numeric(bins=[0.5, 4.5, 10.5, 60.5], integer=True),
        Numeric(bins=[5, 6], integer=True, special=[6]),
    ],
)
@pytest.mark.parametrize("sigma", [0.0, 50.0])
def test_shares_remain_distributions(attribute: Numeric, sigma: float) -> None:
    rng = np.random.default_rng(2)
    cells = fine(attribute)
    starts = np.array(cells.bins[:-1])
    counts = np.where(starts % 5 == 0, 400.0, 10.0) + rng.normal(0, 50, starts.size)
    shape = Shape.fitted(attribute, counts, sigma=sigma)
    np.testing.assert_allclose(np.bincount(shape.bins, weights=shape.shares), 1)


def test_cells_wider_than_five_say_nothing_of_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    income = Numeric(bins=[0, 1000, 2000, 3000, 100_000], integer=True)
    counts = np.random.default_rng(0).normal(200, 50, len(fine(income).bins) - 1)
    found = Shape.fitted(income, counts, sigma=50).shares
    monkeypatch.setattr(shape_fit, "ROUNDINGS", shape_fit.ROUNDINGS[:1])
    np.testing.assert_array_equal(found, Shape.fitted(income, counts, sigma=50).shares)
