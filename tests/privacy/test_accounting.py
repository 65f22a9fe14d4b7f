"""The conversion against two other libraries, and against the table in the brief."""

from __future__ import annotations

import math
from decimal import ROUND_UP, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinfolk.errors import KinfolkError
from kinfolk.privacy import (
    Accounting,
    Gaussian,
    delta_from,
    epsilon_from,
    rho_from,
    round_shares,
)

TABLE_DELTA = 1 / 197_512**2
# epsilon; rho by the paper's lemma and by the tight conversion; sigma in units of the sensitivity:
# the paper, the tight conversion with selections at eps^2/2, and at eps^2/8.
TABLE = [
    (0.125, "1.598e-04 2.196e-04 1266 1080 680"),
    (0.25, "6.374e-04 8.445e-04 634 551 347"),
    (0.5, "2.537e-03 3.242e-03 318 281 177"),
    (1.0, "1.005e-02 1.239e-02 160 144 91"),
]

epsilons = st.floats(0.001, 50)
log_deltas = st.floats(-200, -0.7)
accountings = st.sampled_from(Accounting)


def _sigma(rho: Fraction, selections: Accounting) -> float:
    share = round_shares(rho, rounds=100, alpha=0.67, accounting=selections).measure
    return Gaussian.for_rho(share, squared_sensitivity=1).sigma


@pytest.mark.parametrize(("epsilon", "expected"), TABLE)
def test_table_of_the_brief(epsilon: float, expected: str) -> None:
    paper = rho_from(epsilon, TABLE_DELTA, accounting=Accounting.PAPER)
    tight = rho_from(epsilon, TABLE_DELTA)
    rhos = f"{float(paper):.3e} {float(tight):.3e}"
    sigmas = (
        _sigma(paper, Accounting.PAPER),
        _sigma(tight, Accounting.PAPER),
        _sigma(tight, Accounting.ZCDP),
    )
    assert f"{rhos} {sigmas[0]:.0f} {sigmas[1]:.0f} {sigmas[2]:.0f}" == expected
    if epsilon == 1.0:
        assert f"{sigmas[2]:.1f}" == "90.5"


@settings(max_examples=150, deadline=None)
@given(epsilons, log_deltas, accountings)
def test_a_budget_keeps_its_promise_and_wastes_nothing(
    epsilon: float, log_delta: float, accounting: Accounting
) -> None:
    delta = math.exp(log_delta)
    rho = rho_from(epsilon, delta, accounting=accounting)
    assert delta_from(rho, epsilon, accounting=accounting) <= delta
    # The exact formula is evaluated in floating point, and subtracts numbers that are nearly alike.
    exact = accounting is Accounting.GAUSSIAN
    waste = Fraction(1, 10**7 if exact else 10**9)
    assert delta_from(rho * (1 + waste), epsilon, accounting=accounting) > delta
    found = epsilon_from(rho, delta, accounting=accounting)
    assert found <= epsilon * (1 + 1e-9 if exact else 1)
    assert found == pytest.approx(epsilon, rel=float(waste))


@settings(max_examples=60, deadline=None)
@given(epsilons, log_deltas)
def test_the_papers_lemma_is_looser(epsilon: float, log_delta: float) -> None:
    delta = math.exp(log_delta)
    assert rho_from(epsilon, delta, accounting=Accounting.PAPER) <= rho_from(epsilon, delta)


@settings(max_examples=60, deadline=None)
@given(epsilons, log_deltas)
def test_gaussian_noise_alone_is_cheaper(epsilon: float, log_delta: float) -> None:
    delta = math.exp(log_delta)
    assert rho_from(epsilon, delta) <= rho_from(epsilon, delta, accounting=Accounting.GAUSSIAN)


@pytest.mark.parametrize("delta", [1e-12, 2.2e-10, 1e-6, 0.01])
@pytest.mark.parametrize("epsilon", [0.05, 0.125, 1.0, 10.0])
def test_gaussian_accounting_agrees_with_dp_accounting(epsilon: float, delta: float) -> None:
    theirs = pytest.importorskip("dp_accounting").get_sigma_gaussian(epsilon, delta)
    rho = rho_from(epsilon, delta, accounting=Accounting.GAUSSIAN)
    assert math.sqrt(1 / (2 * rho)) == pytest.approx(theirs, rel=1e-6)


def discrete_gaussian(sigma: float, reach: int) -> np.ndarray:
    """The distribution on -reach to reach, where practically all of it is."""
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


def true_delta(sigma: float, change: tuple[int, ...], epsilon: float) -> float:
    """The exact delta of discrete Gaussian noise on counts that change by this much, summed up."""
    reach = math.ceil(12 * sigma) + max(change)
    old, new = np.ones(1), np.ones(1)
    for step in change:
        one = discrete_gaussian(sigma, reach)
        old, new = np.outer(old, one).ravel(), np.outer(new, np.roll(one, step)).ravel()
    return float(np.maximum(old - math.exp(epsilon) * new, 0).sum())


CASES = [
    (sigma, change, epsilon)
    for sigma in (2.3, 3.0, 4.5)
    for change in ((1,), (3,), (1, 1), (2, 1), (1, 1, 1))
    for epsilon in (0.01, 0.1, 0.25, 0.5, 1.0, 2.0)
]


def test_discrete_noise_keeps_what_gaussian_accounting_promises() -> None:
    """Every case, worked out in full; and without the 4 of the variance, some would not hold."""
    broken = 0
    for sigma, change, epsilon in CASES:
        square = sum(step**2 for step in change)
        exact = true_delta(sigma, change, epsilon)
        noise = Gaussian(squared_sensitivity=square, sigma=sigma)
        rho = noise.rho(Accounting.GAUSSIAN)
        assert exact <= delta_from(rho, epsilon, accounting=Accounting.GAUSSIAN)
        naive = noise.rho()
        broken += exact > delta_from(naive, epsilon, accounting=Accounting.GAUSSIAN) * 1.001
    assert broken > 0


def test_discrete_noise_is_post_processed_continuous_noise() -> None:
    """The proof, in numbers: an integer drawn near a continuous Gaussian is a discrete Gaussian."""
    sigma, near = 3.0, 2.0
    y = np.linspace(-60, 60, 240_001)
    z = np.arange(-40, 41)
    density = np.exp(-(y**2) / (2 * (sigma**2 - near**2)))
    drawn = np.exp(-((z[:, None] - y) ** 2) / (2 * near**2))
    sums = np.exp(-((np.arange(-90, 91)[:, None] - y) ** 2) / (2 * near**2)).sum(axis=0)
    mixed = (drawn / sums * density).sum(axis=1)
    assert np.ptp(sums[60_000:180_000]) / sums.mean() < 1e-13
    expected = discrete_gaussian(sigma, 40)
    assert np.allclose(mixed / mixed.sum(), expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("log_alpha", [-5.0, -1.0, 0.0, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 3.0])
def test_no_alpha_beats_the_search(log_alpha: float, rho: float) -> None:
    alpha = 1 + math.exp(log_alpha)
    for epsilon in (0.1, 1.0, 8.0):
        log_delta = (alpha - 1) * (alpha * rho - epsilon + math.log1p(-1 / alpha))
        delta = math.exp(min(0.0, log_delta - math.log(alpha)))
        assert delta_from(rho, epsilon) <= delta * (1 + 1e-9) + 1e-300


@pytest.mark.parametrize("scale", [0.7, 3.0, 20.0, 90.5])
def test_agrees_with_opendp(scale: float) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T=float)
    profile = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)).map(1.0)
    rho = Fraction(1, 2) / Fraction(scale) ** 2
    for delta in (1e-12, 1e-9, 1e-5, 0.01):
        assert epsilon_from(rho, delta) == pytest.approx(profile.epsilon(delta), rel=1e-6)
    for epsilon in (0.5, 1.0, 4.0):
        assert delta_from(rho, epsilon) == pytest.approx(profile.delta(epsilon), rel=1e-6)


@pytest.mark.parametrize("rho", [1e-4, 0.01239, 0.5, 3.0])
def test_agrees_with_dp_accounting(rho: float) -> None:
    dp_event = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp")
    # Its default orders are coarse; a geometric ladder comes as close to the best one as we like.
    orders = [1 + 1.002**step for step in range(-1500, 4500)]
    accountant = rdp.RdpAccountant(orders).compose(dp_event.ZCDpEvent(rho))
    for delta in (1e-10, 1e-6, 1e-3):
        theirs = accountant.get_epsilon(delta)
        assert epsilon_from(rho, delta) == pytest.approx(theirs, rel=1e-5)
        assert epsilon_from(rho, delta) <= theirs * (1 + 1e-12)


@pytest.mark.parametrize(
    ("epsilon", "delta", "complaint"),
    [
        (0.0, 1e-9, "epsilon is 0.0"),
        (math.nan, 1e-9, "epsilon is nan"),
        (math.inf, 1e-9, "epsilon is inf"),
        (1.0, 0.0, "delta is 0.0"),
        (1.0, 1.0, "delta is 1.0"),
        (1.0, math.nan, "delta is nan"),
        (1e-30, 1e-300, "leaves no budget"),
    ],
)
def test_nonsense_is_refused(epsilon: float, delta: float, complaint: str) -> None:
    with pytest.raises(KinfolkError, match=complaint):
        rho_from(epsilon, delta)


def test_nothing_spent_promises_everything() -> None:
    assert delta_from(0.0, 1.0) == 0
    assert epsilon_from(Fraction(0), 1e-9) == 0
    with pytest.raises(KinfolkError, match="rho is -1"):
        epsilon_from(-1.0, 1e-9)


def test_an_unknown_accounting_is_refused() -> None:
    with pytest.raises(KinfolkError, match="Choose one of 'zcdp', 'gaussian', 'paper'"):
        Accounting.parse("moments")


@pytest.mark.parametrize("accounting", Accounting)
def test_the_callers_decimal_context_changes_nothing(accounting: Accounting) -> None:
    def results() -> tuple[Fraction, float, float]:
        rho = rho_from(1.0, 1e-9, accounting=accounting)
        return (
            rho,
            epsilon_from(rho, 1e-9, accounting=accounting),
            delta_from(rho, 1.0, accounting=accounting),
        )

    expected = results()
    with localcontext(prec=2, rounding=ROUND_UP):
        assert results() == expected
