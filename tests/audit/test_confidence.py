"""The Clopper-Pearson bound against scipy, and against the coverage that it promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binom

from kinfolk.audit.guess import highest_rate, likely_rate, normal_below, normal_quantile
from kinfolk.errors import KinfolkError


@pytest.mark.parametrize("trials", [1, 2, 17, 400, 30_000])
@pytest.mark.parametrize("alarm", [0.05, 1e-3, 1e-6])
def test_agrees_with_scipy(trials: int, alarm: float) -> None:
    for seen in {0, 1, trials // 3, trials // 2, trials - 1} - {trials}:
        expected = beta.ppf(1 - alarm, seen + 1, trials - seen)
        assert highest_rate(seen, trials, alarm=alarm) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("alarm", [0.05, 1e-3])
def test_covers_every_rate(alarm: float) -> None:
    """Exactly, by summing the probabilities of all outcomes whose bound is too low."""
    trials = 30
    bounds = np.array([highest_rate(seen, trials, alarm=alarm) for seen in range(trials + 1)])
    for rate in np.linspace(0.001, 0.999, 499):
        outcomes = binom.pmf(np.arange(trials + 1), trials, rate)
        assert outcomes[bounds < rate].sum() <= alarm


def test_knows_nothing_without_trials() -> None:
    assert highest_rate(0, 0, alarm=0.01) == 1
    assert likely_rate(0, 0, alarm=0.01) == 1


def test_refuses_nonsense() -> None:
    with pytest.raises(KinfolkError, match="8 of 7"):
        highest_rate(8, 7, alarm=0.01)
    with pytest.raises(KinfolkError, match="alarm is 0"):
        highest_rate(1, 7, alarm=0)


def test_the_normal_distribution_in_its_tails() -> None:
    for probability in (1e-300, 1e-12, 0.2, 0.5, 0.999):
        assert normal_below(normal_quantile(probability)) == pytest.approx(probability)
