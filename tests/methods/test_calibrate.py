"""Sizes and numbers as they were measured on their own."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk.methods.calibrate import calibrated, own_rows
from kinfolk.methods.mixture_fit import Measured
from kinfolk.methods.smooth import falling
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Grains
from kinfolk.queries.added_marginals import with_numbers, with_sizes
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

SCHEMA = Schema.from_text("""
group:
  table: homes
  id: home
  attributes:
    rent: {bins: [0, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 900], special: [0]}
individual:
  table: people
  group_id: home
  attributes:
    age: {bins: [0, 8, 16, 20, 30, 40, 50, 60, 70, 80, 120], integer: true}
    wage: {bins: [0, 10, 20, 40], special: [0], missing: true}
max_size: 5
never: [age < 16 and wage not missing]
workload: {k: 1}
""")
WORKLOAD = with_numbers(with_sizes(Workload.of(SCHEMA)))
LAYOUT = Layout.of(SCHEMA)
OWN = [
    at
    for at, one in enumerate(WORKLOAD.marginals)
    if (one.alone and not one.fine) or (one.group == (1,) and one.level == "group")
]
WEIGHTS = np.ones((len(WORKLOAD.marginals), SCHEMA.size_limit + 1), np.int64)


def measured(rates: np.ndarray | None, table: np.ndarray, noise: float) -> Measured:
    prepared = Grains(LAYOUT, WORKLOAD, WEIGHTS).prepare(OWN)
    own = prepared.answers(table) if rates is None else rates
    marginals = tuple(WORKLOAD.marginals[at] for at in OWN)
    precision = np.full(len(own), noise**-2)
    return Measured(prepared=prepared, rates=own, precision=precision, own=marginals)


def mixtures() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return tuple(HPD.random(LAYOUT, 6, rng).probabilities for _ in range(2))


def test_sizes_zeros_and_means_are_set_right_and_the_rest_stays() -> None:
    one, other = mixtures()
    batch = measured(None, other, noise=1e-4)
    found = calibrated(LAYOUT, [batch], one)
    sizes, before, after = ([], [], [])
    places = np.cumsum([WORKLOAD.marginals[at].cells for at in OWN])[:-1]
    for table, kept in ((other, sizes), (one, before), (found, after)):
        kept += np.split(batch.prepared.answers(table), places)
    for at, true, was, now in zip(OWN, sizes, before, after, strict=True):
        marginal = WORKLOAD.marginals[at]
        if not marginal.alone:
            np.testing.assert_allclose(now, true, atol=1e-3)
            continue
        attribute = (
            SCHEMA.group_attributes["rent"]
            if marginal.group
            else list(SCHEMA.individual_attributes.values())[marginal.individual[0]]
        )
        bins = len(attribute.bins) - 1
        wanted = np.append(true[bins:], [true[:bins].sum(), true[:bins] @ np.arange(bins)])
        had = np.append(was[bins:], [was[:bins].sum(), was[:bins] @ np.arange(bins)])
        has = np.append(now[bins:], [now[:bins].sum(), now[:bins] @ np.arange(bins)])
        assert np.abs(has - wanted).max() < 0.35 * np.abs(had - wanted).max()
    # It is still a mixture, and what cannot be still is not.
    ends = zip(LAYOUT.segments, LAYOUT.segments[1:], strict=False)
    for first, last in ends:
        np.testing.assert_allclose(found[first:last].sum(axis=0), 1, atol=1e-6)
    assert (found[~LAYOUT.possible] == 0).all()


def test_the_noise_of_single_bins_is_not_learnt() -> None:
    one, _ = mixtures()
    batch = measured(None, one, noise=0.05)
    rng = np.random.default_rng(1)
    off = np.zeros(len(batch.rates))
    errors = []
    for _ in range(200):
        noisy = measured(batch.rates + 0.05 * rng.standard_normal(len(off)), one, noise=0.05)
        found = calibrated(LAYOUT, [noisy], one)
        errors.append(batch.prepared.answers(found) - batch.rates)
    spread = np.std(errors, axis=0)
    # Sizes follow what was measured; bins of the rent by much less than their noise.
    places = np.cumsum([WORKLOAD.marginals[at].cells for at in OWN])[:-1]
    own = {
        WORKLOAD.marginals[at].group: one
        for at, one in zip(OWN, np.split(spread, places), strict=True)
    }
    assert own[0,][: len(SCHEMA.group_attributes["rent"].bins) - 1].mean() < 0.3 * 0.05
    assert 0.3 * 0.05 < own[1,].mean() < 1.3 * 0.05


def test_many_empty_bins_do_not_take_from_the_zeros() -> None:
    """The noise of a dozen bins together says little; that of the zeros is one cell's."""
    noise = 0.02
    marginals = [WORKLOAD.marginals[at] for at in OWN]
    (rent,) = (at for at, one in enumerate(marginals) if one.group == (0,))
    places = np.cumsum([one.cells for one in marginals])[:-1]
    *bins, zeros = own_rows(LAYOUT, marginals[rent]).rows

    def with_zeros(share: float) -> np.ndarray:
        found = mixtures()[0].copy()
        found[bins] *= (1 - share) / found[bins].sum(axis=0)
        found[zeros] = share
        return found

    def share_of_zeros(rates: np.ndarray) -> float:
        return float(np.split(rates, places)[rent][-1])

    begun = with_zeros(0.8)
    true = measured(None, with_zeros(0.9), noise)
    rng = np.random.default_rng(1)
    found = [
        share_of_zeros(true.prepared.answers(calibrated(LAYOUT, [noisy], begun)))
        for noisy in (
            measured(true.rates + noise * rng.standard_normal(len(true.rates)), begun, noise)
            for _ in range(50)
        )
    ]
    assert np.mean(found) == pytest.approx(share_of_zeros(true.rates), abs=0.5 * noise)
    assert np.std(found) < noise


def test_without_anything_measured_on_its_own_nothing_changes() -> None:
    one, _ = mixtures()
    plain = measured(None, one, noise=1.0)
    assert (
        calibrated(
            LAYOUT,
            [Measured(prepared=plain.prepared, rates=plain.rates, precision=plain.precision)],
            one,
        )
        is one
    )


SPAIN = np.array([2717, 3988, 2915, 2555, 670, 170, 56, 21, 7, 7, 2, 0, 1]) / 13109


@pytest.mark.parametrize("noise", [1e-6, 0.002, 0.01])
def test_rare_sizes_follow_their_neighbours(noise: float) -> None:
    """What stands out of its noise stays; of what does not, the noise is taken out."""
    rng = np.random.default_rng(2)
    raw, smooth = [], []
    for _ in range(100):
        noisy = SPAIN + noise * rng.standard_normal(len(SPAIN))
        found = falling(noisy, np.full(len(SPAIN), noise**-2))
        assert (found > 0).all()
        raw.append(np.abs(np.maximum(noisy, 0) - SPAIN))
        smooth.append(np.abs(found - SPAIN))
    frequent = 20 * noise < SPAIN
    assert np.mean(smooth, axis=0)[frequent].max() < 1.6 * np.mean(raw, axis=0)[frequent].max()
    if noise > 1e-3:
        assert np.mean(smooth, axis=0)[7:].mean() < 0.5 * np.mean(raw, axis=0)[7:].mean()
