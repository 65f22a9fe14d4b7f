"""Bins at round numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinfolk.data.draft.amounts import amount_bins, step_above, step_below


@given(st.floats(1e-12, 1e15))
def test_steps_enclose_the_gap(gap: float) -> None:
    below, above = step_below(gap), step_above(gap)
    assert below.size <= gap <= above.size
    assert above.size <= 2.5 * below.size * (1 + 1e-12)
    assert {below.mantissa, above.mantissa} <= {1, 2, 5}


@pytest.mark.parametrize(
    ("numbers", "ends"),
    [
        (np.arange(18, 95), (10, 100)),
        (np.arange(0, 94), (0, 100)),
        (np.round(np.exp(np.linspace(7, 13.8, 500))), (1000, 1_000_000)),
        (np.linspace(-1400, 90_000, 200), (-2000, 90_000)),
        (np.linspace(0.013, 0.094, 50), (0.01, 0.1)),
    ],
)
def test_ends_are_round(numbers: np.ndarray, ends: tuple[float, float]) -> None:
    distinct = np.unique(numbers.astype(float))
    whole = bool((distinct == np.floor(distinct)).all())
    bins = amount_bins(distinct, np.ones(len(distinct), np.int64), places=0 if whole else None)
    assert (bins[0], bins[-1]) == ends
    assert 5 <= len(bins) <= 12
    for edge in bins:
        # At most three digits that matter.
        assert len(f"{edge:g}".replace(".", "").strip("-0").split("e")[0]) <= 3


def test_zero_is_an_edge_between_losses_and_gains() -> None:
    numbers = np.linspace(-700, 90_000, 300)
    assert 0 in amount_bins(numbers, np.ones(300, np.int64), places=None)


def test_a_spike_does_not_repeat_an_edge() -> None:
    hours = np.array([10.0, 40.0, 60.0])
    bins = amount_bins(hours, np.array([1, 1000, 1]), places=0)
    assert sorted(set(bins)) == bins
    assert 40 in bins
