"""Tables of relatives' numbers, with the noise of unlikely cells taken out."""

from __future__ import annotations

import numpy as np
import pytest

from kinfolk.methods.smooth import NumberTable, smooth

SIZE = 9
TABLE = NumberTable(start=0, size=SIZE, bins=SIZE)


def couples(total: float = 8000.0) -> np.ndarray:
    """Ages of two who go together: the farther apart, the rarer."""
    own = np.array([0, 1, 20, 100, 140, 130, 100, 60, 20.0])
    apart = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE)))
    table = np.sqrt(np.outer(own, own)) * np.exp(-1.6 * apart)
    return (table / table.sum() * total).ravel()


def test_without_noise_a_table_stays_what_it_is() -> None:
    rng = np.random.default_rng(1)
    odd = couples() + 300 * rng.random(SIZE**2)
    found, variances = smooth(TABLE, odd, 0.01)
    np.testing.assert_allclose(found, odd, atol=0.05)
    assert variances.max() == pytest.approx(1e-4, rel=0.05)


def test_noise_far_from_the_diagonal_is_taken_out() -> None:
    """Of what is measured where hardly anybody is, next to nothing is left."""
    rng = np.random.default_rng(2)
    truth, noise = couples(), 50.0
    far = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE))).ravel() >= 4
    raw, now, believed = [], [], []
    for _ in range(20):
        noisy = truth + noise * rng.standard_normal(len(truth))
        found, variances = smooth(TABLE, noisy, noise)
        raw.append(((noisy - truth) ** 2).mean())
        now.append(((found - truth) ** 2).mean())
        believed.append(variances.mean())
        assert np.abs(found[far]).mean() < 0.3 * np.abs(noisy[far]).mean()
    assert np.mean(now) < 0.5 * np.mean(raw)
    # What it believes of its own error is about right, and rather too much.
    assert 0.7 < np.mean(believed) / np.mean(now) < 2.5


def test_special_values_and_blanks_have_no_order() -> None:
    """A table with more terms than cells is left alone; one of numbers with zeros is not."""
    tiny = NumberTable(start=0, size=3, bins=1)
    rates = np.arange(9.0)
    assert smooth(tiny, rates, 1.0)[0] is rates
    zeros = NumberTable(start=0, size=8, bins=6)
    table = np.zeros((8, 8))
    table[:6, :6] = 20 * np.exp(-np.abs(np.subtract.outer(np.arange(6), np.arange(6))))
    table[6], table[:, 6] = 30, 30
    table[6, 6] = 900
    noisy = table.ravel() + 10 * np.random.default_rng(3).standard_normal(64)
    found, _ = smooth(zeros, noisy, 10.0)
    assert ((found - table.ravel()) ** 2).mean() < 0.7 * 10**2
    assert found[54] == pytest.approx(900, abs=30)
