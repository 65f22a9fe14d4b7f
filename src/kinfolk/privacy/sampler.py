"""The discrete Gaussian drawn with integers alone, from any source of uniform integers.

The algorithm of Canonne, Kamath and Steinke (2020, algorithms 1 to 3), restated for integers: a
float sigma is the exact ratio that it is, every coin has a rational or an exp(-rational) bias, and
nothing is ever rounded. Draws for privacy go through opendp, which does the same in compiled and
reviewed code; this one gives seeded tests the very same distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction


def discrete_gaussian(sigma: float, size: int, *, below: Callable[[int], int]) -> list[int]:
    """`size` independent draws x, each with probability proportional to exp(-x^2 / (2 sigma^2)).

    `below(n)` must be uniform on 0, ..., n - 1.

    >>> import random
    >>> len(discrete_gaussian(3.0, 5, below=random.Random(1).randrange))
    5
    """
    variance = Fraction(sigma) ** 2
    top, bottom = variance.numerator, variance.denominator
    width = int(sigma) + 1
    # A draw y from the discrete Laplace of scale `width` is kept with probability
    # exp(-(|y| - variance/width)^2 / (2 variance)), here as one ratio of integers.
    step, denominator = width * bottom, 2 * width * width * bottom * top
    draws: list[int] = []
    while len(draws) < size:
        y = _discrete_laplace(width, below)
        if _coin_exp((abs(y) * step - top) ** 2, denominator, below):
            draws.append(y)
    return draws


def _discrete_laplace(width: int, below: Callable[[int], int]) -> int:
    """One draw y with probability proportional to exp(-|y| / width)."""
    while True:
        fine = below(width)
        if not _coin_exp_below_one(fine, width, below):
            continue
        coarse = 0
        while _coin_exp_below_one(1, 1, below):
            coarse += 1
        size = fine + width * coarse
        negative = below(2) == 1
        # Both signs lead to zero, so one of them is thrown away.
        if size or not negative:
            return -size if negative else size


def _coin_exp(top: int, bottom: int, below: Callable[[int], int]) -> bool:
    """True with probability exp(-top / bottom)."""
    whole, rest = divmod(top, bottom)
    return all(_coin_exp_below_one(1, 1, below) for _ in range(whole)) and _coin_exp_below_one(
        rest, bottom, below
    )


def _coin_exp_below_one(top: int, bottom: int, below: Callable[[int], int]) -> bool:
    """True with probability exp(-top / bottom), for top <= bottom."""
    # Count successes of coins with bias (top/bottom) / 1, / 2, ...; the first failure is odd with
    # exactly that probability (von Neumann).
    trial = 1
    while below(bottom * trial) < top:
        trial += 1
    return trial % 2 == 1
