"""The floors under the errors of a guess: enumerated where an audit relies on them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from kinfolk.audit.guess import (
    Ceiling,
    ErrorRates,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_floor,
    promise_floor,
)
from kinfolk.privacy.accounting import Accounting, rho_from


def mu_of(false_alarms: np.ndarray, misses: np.ndarray) -> np.ndarray:
    return norm.isf(false_alarms) - norm.ppf(misses)


@pytest.mark.parametrize("sigma", [0.6, 0.62, 0.7, 0.8, 1.0, 1.3, 2.0, 3.7, 6.0])
def test_noise_on_whole_numbers_stays_under_its_ceiling(sigma: float) -> None:
    """Every threshold and every shift, with all the probability that a float can hold."""
    reach = int(12 * sigma) + 6
    support = np.arange(-reach, reach + 1)
    pmf = np.exp(-(support**2) / (2 * sigma**2))
    pmf /= pmf.sum()
    above = np.cumsum(pmf[::-1])[::-1]
    below = np.cumsum(pmf)
    worst = 0.0
    for shift in range(1, 13):
        # Guess "shifted" from the threshold on.
        false_alarms, misses = above[shift + 1 :], below[: -shift - 1]
        # Shares near 1 cannot be told from 1 in floating point, and hardly separate anything.
        told = (false_alarms < 0.999) & (misses < 0.999) & (false_alarms > 1e-30) & (misses > 1e-30)
        if told.any():
            found = mu_of(false_alarms[told], misses[told]).max() / (shift / sigma)
            worst = max(worst, found)
    assert 1 < worst <= Ceiling(selected=0.0, sigma=sigma).lattice


def separation(sigma: float, shift: int) -> float:
    """The largest mu that any threshold shows of discrete noise and the same noise shifted."""
    reach = int(12 * sigma) + shift + 6
    support = np.arange(-reach, reach + 1)
    pmf = np.exp(-(support**2) / (2 * sigma**2))
    pmf /= pmf.sum()
    above, below = np.cumsum(pmf[::-1])[::-1], np.cumsum(pmf)
    false_alarms, misses = above[shift + 1 :], below[: -shift - 1]
    told = (false_alarms < 0.999) & (misses < 0.999) & (false_alarms > 1e-30) & (misses > 1e-30)
    return float(mu_of(false_alarms[told], misses[told]).max())


@pytest.mark.parametrize("variance", [0.05, 0.1, 0.4, 1.0, 3.0, 20.0])
def test_the_grid_pays_for_the_whole_numbers(variance: float) -> None:
    """With 4 more variance, discrete noise is under its exact ceiling; without, it is above."""
    exact = Ceiling(selected=0.0, sigma=0.1, accounting=Accounting.GAUSSIAN)
    for shift in range(1, 7):
        allowed = exact.mu(rho=shift**2 / (2 * variance))
        assert allowed == pytest.approx(shift / math.sqrt(variance))
        assert separation(math.sqrt(variance + 4), shift) < allowed
    assert separation(math.sqrt(variance), 1) > exact.mu(rho=1 / (2 * variance))


def test_too_little_noise_says_nothing_about_the_budget() -> None:
    ceiling = Ceiling(selected=0.0, sigma=0.5)
    assert ceiling.rho(3.0) == 0
    assert ceiling.mu(1.0) == math.inf


@pytest.mark.parametrize("eps", [0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_a_selection_stays_under_its_ceiling(eps: float) -> None:
    """All ratios within an interval of length eps: the corner of the lowest floor, for every t."""
    t = np.linspace(0.001, 0.999, 1999) * eps
    least, most = np.exp(t - eps), np.exp(t)
    false_alarms = (1 - least) / (most - least)
    misses = 1 - most * false_alarms
    found = mu_of(false_alarms, misses)
    assert t[found.argmax()] == pytest.approx(eps / 2)
    assert found.max() <= Ceiling(selected=1.0).mu(rho=eps**2 / 8) * (1 + 1e-9)


def test_the_exact_epsilon_of_gaussian_noise() -> None:
    for mu, epsilon in ((0.2, 0.7), (1.0, 4.0), (3.0, 11.0)):
        ratio = epsilon / mu
        delta = norm.cdf(mu / 2 - ratio) - math.exp(epsilon) * norm.cdf(-mu / 2 - ratio)
        assert gaussian_delta(mu, epsilon) == pytest.approx(delta)
        assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon)
    assert gaussian_epsilon(0.001, 0.1) == 0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-5), (10.0, 1e-3)])
def test_the_exact_epsilon_is_below_the_accountants(epsilon: float, delta: float) -> None:
    mu = math.sqrt(2 * rho_from(epsilon, delta))
    assert 0.8 * epsilon < gaussian_epsilon(mu, delta) < epsilon


def test_errors_on_a_floor_give_the_floor_back() -> None:
    for false_alarms in (0.01, 0.3, 0.7):
        errors = ErrorRates(false_alarms=false_alarms, misses=gaussian_floor(1.3, false_alarms))
        assert errors.mu == pytest.approx(1.3)
        errors = ErrorRates(
            false_alarms=false_alarms, misses=promise_floor(0.4, 0.01, false_alarms)
        )
        assert errors.epsilon(0.01) == pytest.approx(0.4)


def test_guessing_blindly_says_nothing() -> None:
    errors = ErrorRates(false_alarms=0.5, misses=0.5)
    assert (errors.mu, errors.epsilon(0.0)) == (0, 0)


def test_errors_counted_together_are_worst_when_equal() -> None:
    """With a given sum, every bound is least where both errors are the same."""
    for both in (0.05, 0.2, 0.45):
        equal = ErrorRates(false_alarms=both, misses=both)
        for share in np.linspace(0.01, 1.99, 100):
            other = ErrorRates(false_alarms=both * share, misses=both * (2 - share))
            assert other.mu >= equal.mu - 1e-9
            assert other.epsilon(1e-3) >= equal.epsilon(1e-3) - 1e-9
