"""Bins at round numbers: edges of the form 1, 2 or 5 times a power of ten, and their multiples."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_BINS = 10
"""How many bins a draft aims at; about as many people in each."""

FINEST = 1e-9
"""Edges are multiples of at least this share of the largest number."""
SMALLEST = 1e-300
"""No distance is below it: numbers next to nothing have no round ones between them."""


class Step(NamedTuple):
    """A round distance: mantissa (1, 2 or 5) times ten to the exponent."""

    mantissa: int
    exponent: int

    @property
    def size(self) -> float:
        """The distance as a number."""
        return float(Decimal(self.mantissa).scaleb(self.exponent))

    def times(self, count: int) -> int | float:
        """A multiple of the step, without the dust of binary fractions.

        >>> Step(1, -1).times(3), Step(5, 3).times(-2)
        (0.3, -10000)
        """
        if self.exponent >= 0:
            return int(count * self.mantissa * 10**self.exponent)
        number = float(Decimal(count * self.mantissa).scaleb(self.exponent))
        return int(number) if number.is_integer() else number


def step_below(gap: float) -> Step:
    """The largest round distance that is at most `gap`.

    >>> step_below(7), step_below(0.3), step_below(20)
    (Step(mantissa=5, exponent=0), Step(mantissa=2, exponent=-1), Step(mantissa=2, exponent=1))
    """
    exponent = math.floor(math.log10(gap))
    # The logarithm may land a hair on the wrong side of a power of ten.
    candidates = [Step(m, e) for e in range(exponent - 1, exponent + 2) for m in (1, 2, 5)]
    return max((step for step in candidates if step.size <= gap), key=lambda step: step.size)


def step_above(gap: float) -> Step:
    """The smallest round distance that is at least `gap`."""
    step = step_below(gap)
    if step.size >= gap:
        return step
    following = {1: Step(2, step.exponent), 2: Step(5, step.exponent)}
    return following.get(step.mantissa, Step(1, step.exponent + 1))


def round_bins(numbers: Floats, counts: Ints, *, whole: bool) -> list[int | float]:
    """Round edges around the deciles; the first and last edge enclose every number.

    numbers: (distinct,) increasing; counts: (distinct,) how often each occurs.

    >>> ages = np.arange(1.0, 98.0)
    >>> round_bins(ages, np.ones(97, np.int64), whole=True)
    [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    """
    low, high = float(numbers[0]), float(numbers[-1])
    finest = max(1.0 if whole else SMALLEST, max(abs(low), abs(high)) * FINEST)
    share = np.cumsum(counts) / counts.sum()
    levels = np.arange(1, MOST_BINS) / MOST_BINS
    picked = np.minimum(np.searchsorted(share, levels), len(numbers) - 1)
    # An edge is as round as its own size and the spread of the numbers call for: 25, not 23.
    spread = float(np.ptp(numbers[picked])) / (2 * MOST_BINS)
    marks = sorted({low, *(float(number) for number in numbers[picked]), high})
    inner: set[int | float] = set()
    for index, mark in enumerate(marks[1:-1], start=1):
        gap = min(mark - marks[index - 1], marks[index + 1] - mark)
        plain = step_above(max(min(abs(mark) / MOST_BINS, spread), finest)).size
        step = step_below(max(gap, plain))
        inner.add(step.times(round(mark / step.size)))
    if low < 0 < high:
        inner.add(0)
    first = min((edge for edge in inner if edge > low), default=high)
    last = max((edge for edge in inner if edge < high), default=low)
    bottom = _enclose(low, step_above(max(first - low, finest)), down=True)
    top = _enclose(high, step_above(max(high - last, finest)), down=False)
    if top <= bottom:
        top = step_above(finest).times(1) + bottom
    kept = sorted(edge for edge in inner if bottom < edge < top)
    return [bottom, *_apart([bottom, *kept, top]), top]


def _enclose(number: float, step: Step, *, down: bool) -> int | float:
    """The nearest multiple of the step at or beyond a number."""
    sign = -1 if down else 1
    count = math.floor(number / step.size) if down else math.ceil(number / step.size)
    while sign * step.times(count) < sign * number:
        count += sign
    return step.times(count)


def _apart(edges: list[int | float]) -> list[int | float]:
    """The inner edges that lie clearly apart from the one before."""
    closest = (edges[-1] - edges[0]) * FINEST
    return [edge for before, edge in pairwise(edges[:-1]) if edge - before > closest]
