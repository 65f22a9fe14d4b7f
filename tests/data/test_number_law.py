"""How numbers lie, once their categories are known: against lists of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kinfolk.data.number_law import NumberLaw
from kinfolk.data.numbers import draw_column
from kinfolk.data.shapes import Shape
from kinfolk.errors import SchemaError
from kinfolk.schema import Categorical, Numeric


@st.composite
def numbers(draw: st.DrawFn) -> Numeric:
    """Whole numbers in a few bins, some of them special."""
    edges = sorted(draw(st.sets(st.integers(-20, 60), min_size=2, max_size=4)))
    special = draw(st.sets(st.integers(-25, 65), max_size=3))
    try:
        return Numeric(
            bins=edges,
            integer=True,
            special=sorted(special),
            missing=draw(st.booleans()),
        )
    except SchemaError:
        assume(False)
        raise


def listed(shape: Shape) -> dict[int, dict[float, float]]:
    """By code, every number and its share, special values that are none left out."""
    attribute = shape.attribute
    found: dict[int, dict[float, float]] = {}
    for cell, (code, share) in enumerate(zip(shape.bins.tolist(), shape.shares, strict=True)):
        own = [k for k in shape.cells.writable(cell) if k not in attribute.special]
        for k in own:
            found.setdefault(code, {})[float(k)] = share / len(own)
    for code, value in enumerate(attribute.special, len(attribute.bins) - 1):
        if attribute.bins[0] <= value <= attribute.bins[-1]:
            found[code] = {float(value): 1.0}
    return found


@given(attribute=numbers(), seed=st.integers(0, 1000), share=st.floats(0.01, 0.99))
def test_whole_numbers_are_those_of_a_list(attribute: Numeric, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    even = Shape.even(attribute)
    shares = even.shares * rng.uniform(0.1, 1, even.shares.size)
    shape = Shape(
        attribute=attribute, shares=shares / np.bincount(even.bins, weights=shares)[even.bins]
    )
    law, every = NumberLaw.of(attribute, shape), listed(shape)
    assert law.codes.tolist() == sorted(every)
    likely = rng.random(len(law.codes)) + 0.01
    chances: dict[float, float] = {}
    for at, code in enumerate(law.codes.tolist()):
        values, parts = (np.array(one) for one in zip(*every[code].items(), strict=True))
        centre = values @ parts
        assert law.means[at] == pytest.approx(centre)
        assert law.variances[at] == pytest.approx((values - centre) ** 2 @ parts, abs=1e-9)
        for value, part in every[code].items():
            chances[value] = chances.get(value, 0.0) + part * likely[at]
    ordered = sorted(chances)
    reached = np.cumsum([chances[value] for value in ordered]) / likely.sum()
    assume(np.abs(reached - share).min() > 1e-6)
    found = law.quantile(likely, share)
    assert found == ordered[int(np.searchsorted(reached, share))]
    assert law.below(likely, found) == pytest.approx(reached[ordered.index(found)])
    inside = np.array([sum(p for x, p in every[c].items() if x <= found) for c in sorted(every)])
    assert law.chance(likely, found) == pytest.approx(
        likely @ (inside * (1 - inside)) / likely.sum(), abs=1e-12
    )
    assert law.range == (ordered[0], ordered[-1])


def test_other_numbers_are_those_that_are_drawn() -> None:
    """Six standard errors of 200,000 draws: a false alarm in 500 million tests."""
    attribute = Numeric(bins=[0, 1, 5, 80], special=[0.5, -1], missing=True)
    law = NumberLaw.of(attribute)
    likely = np.array([0.3, 0.4, 0.2, 0.1])
    rng = np.random.default_rng(1)
    codes = rng.choice(law.codes, size=200_000, p=likely)
    drawn = draw_column(codes, attribute, Shape.even(attribute), None, rng)
    spread = np.sqrt(likely @ (law.variances + law.means**2) - (likely @ law.means) ** 2)
    assert drawn.mean() == pytest.approx(likely @ law.means, abs=6 * spread / np.sqrt(len(drawn)))
    assert drawn.std() == pytest.approx(spread, rel=0.03)
    for share in (0.1, 0.3, 0.5, 0.9, 0.99):
        found = law.quantile(likely, share)
        error = 6 * np.sqrt(share * (1 - share) / len(drawn))
        assert (drawn < found - 1e-9).mean() <= share + error
        assert (drawn <= found + 1e-9).mean() >= share - error
        assert law.below(likely, found) == pytest.approx((drawn <= found + 1e-9).mean(), abs=error)


def test_listed_values_are_numbers_too() -> None:
    law = NumberLaw.of(Categorical(values=[3, 1, 2.5], missing=True))
    likely = np.array([0.2, 0.5, 0.3])
    assert (law.means.tolist(), law.variances.tolist()) == ([3, 1, 2.5], [0, 0, 0])
    assert [law.quantile(likely, share) for share in (0.0, 0.5, 0.6, 0.81, 1.0)] == [
        1,
        1,
        2.5,
        3,
        3,
    ]
    assert law.below(likely, 2.5) == pytest.approx(0.8)
    assert law.range == (1, 3)


def test_neighbouring_bins_tell_how_numbers_lie_inside() -> None:
    """Some whose numbers are exponentially more frequent upwards than usual."""
    law = NumberLaw.of(Numeric(bins=[0, 2, 4, 6, 8, 10], special=[-1]))
    usual = np.full(5, 0.2)
    assert law.tilted(usual, 3 * usual, least=0.0).shares == pytest.approx(law.shares)
    edges = np.arange(0, 12, 2.0)
    likely = np.diff(np.exp(0.3 * edges))
    exact = np.diff((edges - 1 / 0.3) * np.exp(0.3 * edges)) / likely
    tilted = law.tilted(likely, usual, least=0.0)
    assert np.abs(law.means - exact).min() > 0.09
    assert tilted.means == pytest.approx(exact, abs=0.003)
    # What is as good as none tells nothing, and a single bin has no neighbours.
    assert law.tilted(likely, usual, least=1e9).shares == pytest.approx(law.shares)
    alone = NumberLaw.of(Numeric(bins=[0, 2], special=[1]))
    assert alone.tilted(np.array([0.5, 0.5]), np.array([0.9, 0.1]), least=0.0) is alone
