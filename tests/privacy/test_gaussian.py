"""The discrete Gaussian against its exact pmf. False-alarm rate of each test: 1e-6."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from kinfolk.errors import KinfolkError
from kinfolk.privacy import Gaussian, Randomness, measure, noise

Judge = Callable[[Sequence[int], float], bool]
SOURCES = [Randomness(), Randomness(seed=11)]
DRAWS = 12_000
LIMITS = np.iinfo(np.int64)


def _noise(sigma: float, randomness: Randomness, draws: int = DRAWS) -> list[int]:
    counts = np.arange(draws) % 1000
    noisy = measure(counts, Gaussian(squared_sensitivity=2, sigma=sigma), randomness=randomness)
    drawn: list[int] = (noisy - counts).tolist()
    return drawn


@pytest.mark.parametrize("sigma", [0.8, 4.25, 90.5])
@pytest.mark.parametrize("randomness", SOURCES, ids=["os", "seeded"])
def test_noise_has_the_stated_scale_and_no_other(
    sigma: float, randomness: Randomness, rejects_gaussian: Judge
) -> None:
    drawn = _noise(sigma, randomness)
    assert not rejects_gaussian(drawn, sigma)
    assert rejects_gaussian(drawn, sigma * 0.67)
    assert rejects_gaussian(drawn, sigma * 1.5)
    # And the other way round: noise that is too small or too large does not pass for sigma.
    assert rejects_gaussian(_noise(sigma * 0.67, randomness), sigma)
    assert rejects_gaussian(_noise(sigma * 1.5, randomness), sigma)


def test_cells_are_independent() -> None:
    drawn = np.sign(_noise(5.0, Randomness()))
    table = np.zeros((3, 3))
    np.add.at(table, (drawn[:-1:2] + 1, drawn[1::2] + 1), 1)
    assert chi2_contingency(table).pvalue > 1e-6


def test_planted_bug_half_the_noise(
    monkeypatch: pytest.MonkeyPatch, rejects_gaussian: Judge
) -> None:
    right = noise.gaussian_measurement
    monkeypatch.setattr(noise, "gaussian_measurement", lambda sigma: right(sigma / 2))
    assert rejects_gaussian(_noise(4.0, Randomness()), 4.0)


def test_planted_bug_one_draw_for_two_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    right = noise.gaussian_measurement

    def twice(sigma: float) -> Callable[[list[int]], list[int]]:
        drawn = right(sigma)
        return lambda counts: [
            counts[place] + extra
            for place, extra in enumerate(np.repeat(drawn([0] * (len(counts) // 2)), 2).tolist())
        ]

    monkeypatch.setattr(noise, "gaussian_measurement", twice)
    with pytest.raises(AssertionError):
        test_cells_are_independent()


@pytest.mark.parametrize("randomness", SOURCES, ids=["os", "seeded"])
def test_sums_beyond_int64_are_clamped(randomness: Randomness) -> None:
    noise = Gaussian(squared_sensitivity=2, sigma=1e6)
    high = measure(np.full(60, LIMITS.max), noise, randomness=randomness)
    low = measure(np.full(60, LIMITS.min), noise, randomness=randomness)
    assert (high > 0).all()
    assert (low < 0).all()
    assert (high == LIMITS.max).any()
    assert (low == LIMITS.min).any()


@pytest.mark.parametrize("randomness", SOURCES, ids=["os", "seeded"])
def test_shape_and_type(randomness: Randomness) -> None:
    noise = Gaussian(squared_sensitivity=2, sigma=3.0)
    for size in (0, 1, 342):
        noisy = measure(np.zeros(size, dtype=np.int64), noise, randomness=randomness)
        assert noisy.shape == (size,)
        assert noisy.dtype == np.int64


def test_a_seed_repeats_the_noise() -> None:
    assert _noise(3.0, Randomness(seed=5), 100) == _noise(3.0, Randomness(seed=5), 100)
    assert _noise(3.0, Randomness(seed=5), 100) != _noise(3.0, Randomness(seed=6), 100)


@pytest.mark.parametrize(
    "counts",
    [np.zeros(3), np.zeros(3, dtype=np.uint64), np.zeros((2, 2), dtype=np.int64), [1, 2]],
    ids=["float", "unsigned", "matrix", "list"],
)
def test_anything_but_a_vector_of_int64_is_refused(counts: np.ndarray) -> None:
    with pytest.raises(KinfolkError, match="must be a vector of int64"):
        measure(counts, Gaussian(squared_sensitivity=2, sigma=3.0), randomness=Randomness())


def test_without_opendp_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    noise.opendp.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(KinfolkError, match="pip install 'kinfolk\\[curator\\]'"):
        _noise(3.0, Randomness(), 1)
    # Seeded tests do not need it.
    assert len(_noise(3.0, Randomness(seed=1), 4)) == 4


def test_an_old_opendp_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    noise.opendp.cache_clear()
    monkeypatch.setattr(noise, "version", lambda _: "0.15.1")
    with pytest.raises(KinfolkError, match=r"opendp 0\.15\.1 is installed"):
        noise.opendp()
