"""The suite's own judges of a sampler, shared by the tests and by the planted bugs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from kinfolk.privacy import Guarantee
from promises import promise

FALSE_ALARM = 1e-6
"""How often a correct sampler fails one of these tests."""

Judge = Callable[[Sequence[int], float], bool]


def chi_square_rejects(observed: np.ndarray, probabilities: np.ndarray) -> bool:
    """Whether counts over the cells contradict the probabilities, at FALSE_ALARM."""
    if observed[probabilities == 0].sum():
        return True
    expected = probabilities * observed.sum()
    merged: list[tuple[float, float]] = []
    seen = wanted = 0.0
    for one_seen, one_wanted in zip(observed, expected, strict=True):
        seen, wanted = seen + one_seen, wanted + one_wanted
        if wanted >= 20:
            merged.append((seen, wanted))
            seen = wanted = 0.0
    last_seen, last_wanted = merged.pop()
    merged.append((last_seen + seen, last_wanted + wanted))
    assert len(merged) > 1, "too few draws to judge anything"
    statistic = sum((s - w) ** 2 / w for s, w in merged)
    return bool(chi2.sf(statistic, len(merged) - 1) < FALSE_ALARM)


@pytest.fixture
def rejects_gaussian() -> Judge:
    """Whether draws contradict the discrete Gaussian of this sigma."""

    def judge(draws: Sequence[int], sigma: float) -> bool:
        reach = int(12 * sigma) + 10
        support = np.arange(-reach, reach + 1)
        pmf = np.exp(-(support**2) / (2 * sigma**2))
        values = np.asarray(draws)
        if np.abs(values).max() > reach:
            return True
        return chi_square_rejects(
            np.bincount(values + reach, minlength=support.size), pmf / pmf.sum()
        )

    return judge


@pytest.fixture
def rejects_choice() -> Callable[[Sequence[int], np.ndarray, float], bool]:
    """Whether chosen indices contradict P ~ exp(score / scale)."""

    def judge(chosen: Sequence[int], scores: np.ndarray, scale: float) -> bool:
        weights = np.exp((scores - scores.max()) / scale)
        observed = np.bincount(np.asarray(chosen), minlength=scores.size)
        return chi_square_rejects(observed, weights / weights.sum())

    return judge


@pytest.fixture
def guarantee() -> Guarantee:
    return promise(epsilon=1.0, delta=1e-9)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"
