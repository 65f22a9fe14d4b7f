"""Cells: every one lies in one bin, and can be written."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from generators import numerics
from kinfolk.data.columns import encode_column
from kinfolk.schema import Numeric, Schema
from kinfolk.schema.bins import (
    CELLS,
    MOST_CELLS,
    NARROW,
    FineAttributes,
    bin_of_cells,
    fine,
    finer,
    tail_of,
)


@given(numerics(), st.integers(0, 1000))
def test_the_bin_is_a_function_of_the_cell(attribute: Numeric, seed: int) -> None:
    cells = fine(attribute)
    bins = bin_of_cells(attribute, cells)
    rng = np.random.default_rng(seed)
    numbers = rng.uniform(attribute.bins[0], attribute.bins[-1], 50)
    if attribute.integer:
        low, high = np.ceil(attribute.bins[0]), np.floor(attribute.bins[-1])
        numbers = np.clip(np.round(numbers), low, high)
    column = pa.chunked_array([pa.array([*numbers, *attribute.bins, *attribute.special])])
    coarse, _ = encode_column(column, attribute, untyped=False)
    found, _ = encode_column(column, cells, untyped=False)
    for code, cell in zip(coarse.tolist(), found.tolist(), strict=True):
        if code < 0:
            assert cell < 0
        elif code < len(attribute.bins) - 1:
            assert bins[cell] == code
        else:
            assert cell - len(bins) == code - (len(attribute.bins) - 1)


@given(numerics())
def test_cells_are_few_and_all_edges_are_kept(attribute: Numeric) -> None:
    cells = fine(attribute)
    assert set(attribute.bins) <= set(cells.bins)
    bins = bin_of_cells(attribute, cells)
    assert sorted(set(bins)) == list(range(len(attribute.bins) - 1))
    assert max(bins.count(code) for code in set(bins)) <= max(MOST_CELLS, NARROW)


def test_whole_numbers_in_narrow_bins_have_a_cell_each() -> None:
    hours = Numeric(bins=[1, 20, 35, 45, 60, 99], integer=True, special=[40])
    cells = fine(hours)
    own = [cells.label(code) for code in range(len(cells.bins) - 1)]
    assert {"35", "36", "41", "59"} <= set(own)
    assert "40" not in own[: len(cells.bins) - 1]


def test_multiples_of_five_have_cells_of_their_own_in_bins_that_are_not_wide() -> None:
    hours = Numeric(bins=[0, 35, 40, 45, 50, 100], integer=True, special=[70])
    assert [tail_of(hours, code) for code in (0, 4)] == [-1, 1]
    cells = fine(hours)
    own = [cells.label(code) for code in range(len(cells.bins) - 1)]
    assert own[:4] == ["0", "1 to 4", "5", "6 to 9"]
    assert {"50", "51 to 54", "55", "60", "65", "95", "100"} <= set(own)
    assert "70" not in own
    # Not where cells are wider than that anyway, and not for numbers with decimals.
    age = fine(Numeric(bins=[0, 18, 65, 120], integer=True))
    assert len([edge for edge in age.bins if 65 <= edge < 120]) == CELLS
    rate = fine(Numeric(bins=[0, 1, 5, 9], decimals=1))
    assert len([edge for edge in rate.bins if 1 <= edge < 5]) < 2 * CELLS


def test_cells_of_tails_grow_outwards() -> None:
    income = Numeric(bins=[-100_000, 0, 10_000, 20_000, 1_000_000], decimals=2, special=[0])
    assert [tail_of(income, code) for code in range(4)] == [-1, 0, 0, 1]
    cells = fine(income)
    bins = bin_of_cells(income, cells)
    widths = [high - low for low, high in pairwise(cells.bins)]
    below = [w for w, code in zip(widths, bins, strict=True) if code == 0]
    above = [w for w, code in zip(widths, bins, strict=True) if code == 3]
    assert below == sorted(below, reverse=True)
    assert above == sorted(above)
    assert above[-1] > 20 * above[0]


def test_one_bin_alone_is_cut_on_a_logarithmic_scale() -> None:
    cells = fine(Numeric(bins=[0, 5_000_000], integer=True, special=[0]))
    assert cells.bins[1] < 10_000
    assert len(cells.bins) > 10


def test_a_bin_that_spans_a_factor_of_a_thousand_too() -> None:
    cells = fine(Numeric(bins=[-5000, -1000, -1, 1, 1000, 2000]))
    inner = [edge for edge in cells.bins if 1 <= edge <= 1000]
    ratios = [high / low for low, high in pairwise(inner)]
    np.testing.assert_allclose(ratios, ratios[0])
    mirrored = [-edge for edge in cells.bins if -1000 <= edge <= -1]
    np.testing.assert_allclose(mirrored, inner[::-1])


def test_what_a_formula_computes_is_not_counted_finely() -> None:
    schema = Schema.from_text("""
group:
  table: homes
  id: home
  attributes:
    oldest: {bins: [0, 18, 65, 120], integer: true, derived: max(age)}
    rent: {bins: [0, 500, 9000]}
individual:
  table: people
  group_id: home
  attributes: {age: {bins: [0, 18, 65, 120], integer: true}, rooms: {bins: [1, 2, 3.5]}}
max_size: 3
workload: {k: 1}
""")
    found = FineAttributes.of(schema)
    assert list(found.group) == ["rent"]
    assert list(found.individual) == ["age", "rooms"]
    assert found.individual["age"].bins == fine(schema.individual_attributes["age"]).bins


def test_a_number_with_too_many_cells_is_not_counted_finely() -> None:
    assert finer(Numeric(bins=range(0, 100 * 7000, 100))) is None
    assert finer(Numeric(bins=range(0, 100 * 1000, 100))) is not None
