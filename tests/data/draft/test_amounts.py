"""Drafts of numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kinfolk.data.columns import encode_column
from kinfolk.data.draft.amounts import amount_bins, decimals_of, draft_amount
from kinfolk.schema import IndividualTable, Numeric, Schema, WorkloadSpec
from kinfolk.schema.doubtful import wide_bins

NUMBERS = st.one_of(
    st.lists(st.integers(-(10**15), 10**15), min_size=1, max_size=40),
    st.lists(st.integers(-50, 200), min_size=1, max_size=80),
    st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=40),
    st.lists(st.floats(-2, 2), min_size=1, max_size=40),
    st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.5, 12.25, 1000.0]), min_size=1, max_size=40),
)


def drafted(numbers: np.ndarray) -> Numeric:
    distinct, counts = np.unique(np.asarray(numbers, dtype=float), return_counts=True)
    return draft_amount(distinct, counts, whole=bool((distinct == np.floor(distinct)).all()))


@given(NUMBERS)
def test_every_number_fits_its_draft(numbers: list[float]) -> None:
    attribute = drafted(np.array(numbers))
    column = pa.chunked_array([pa.array(np.array(numbers, dtype=float))])
    _, misfits = encode_column(column, attribute, untyped=False)
    assert not misfits
    assert all(low < high for low, high in pairwise(attribute.bins))
    assert len(attribute.bins) <= 60


def test_amounts_have_zeros_apart_and_a_long_tail_cut() -> None:
    rng = np.random.default_rng(0)
    wages = np.round(np.exp(rng.normal(9.5, 0.8, 10_000)), 2)
    wages[:5000] = 0
    found = drafted(wages)
    assert found.special == (0,)
    assert found.decimals == 2
    assert found.bins[0] == 0
    assert found.bins[-1] >= 2 * wages.max()
    shares = np.histogram(wages[wages > 0], found.bins)[0] / (wages > 0).sum()
    assert shares.max() < 0.25
    assert 0 < shares[-1] < 0.03


def test_never_one_wide_bin() -> None:
    heaped = np.array([40.0] * 990 + list(range(10)))
    assert len(drafted(heaped).bins) > 4
    assert len(drafted(np.array([0.0, 1e6])).bins) > 4


def test_ages_keep_their_zeros_and_ends() -> None:
    ages = np.repeat(np.arange(0, 94), 10)
    found = drafted(ages)
    assert found.special == ()
    assert found.integer
    assert (found.bins[0], found.bins[-1]) == (0, 100)


def test_decimals() -> None:
    ones = np.ones(3, np.int64)
    assert decimals_of(np.array([1.0, 2.5, 3.0]), ones) == 1
    assert decimals_of(np.array([1.0, 2.0, 1 / 3]), ones) is None
    # A tenth of a euro is no unit: a few amounts with cents tell.
    assert decimals_of(np.array([1.5, 2.7, 3.25]), np.array([500, 500, 1])) == 2
    assert decimals_of(np.array([1.5, 2.7, 1 / 3]), np.array([500, 500, 1])) == 1
    assert decimals_of(np.array([1.0, 2.0, 1 / 3]), np.array([500, 500, 1])) == 0


def test_edges_are_round() -> None:
    numbers = np.unique(np.round(np.exp(np.linspace(7, 13.8, 500))))
    edges = amount_bins(numbers, np.ones(len(numbers), np.int64), places=0)
    assert all(len(str(abs(edge)).rstrip("0")) <= 2 for edge in edges)


def test_no_bin_but_a_tail_is_more_than_half_of_the_range() -> None:
    """Of that, `validate` and `plan` would warn."""
    rng = np.random.default_rng(6)
    few = np.arange(11_000, 42_000, 3000)
    found = drafted(np.round(np.concatenate([rng.uniform(1500, 8000, 240), few])))
    people = IndividualTable(table="people", group_id=None, attributes={"aid": found})
    schema = Schema(group=None, individual=people, max_size=1, workload=WorkloadSpec(k=1))
    assert wide_bins(schema) == []
