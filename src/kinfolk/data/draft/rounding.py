"""Round distances: 1, 2 or 5 times a power of ten, of which round edges are multiples."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FINEST = 1e-9
"""Edges are multiples of at least this share of the largest number."""


class RoundStep(NamedTuple):
    """A round distance: mantissa (1, 2 or 5) times ten to the exponent."""

    mantissa: int
    exponent: int

    @property
    def size(self) -> float:
        """The distance as a number."""
        return float(Decimal(self.mantissa).scaleb(self.exponent))

    def times(self, count: int) -> int | float:
        """A multiple of the step, without the dust of binary fractions.

        >>> RoundStep(1, -1).times(3), RoundStep(5, 3).times(-2)
        (0.3, -10000)
        """
        if self.exponent >= 0:
            return int(count * self.mantissa * 10**self.exponent)
        number = float(Decimal(count * self.mantissa).scaleb(self.exponent))
        return int(number) if number.is_integer() else number


def step_below(gap: float) -> RoundStep:
    """The largest round distance that is at most `gap`.

    >>> step_below(7), step_below(0.3)
    (RoundStep(mantissa=5, exponent=0), RoundStep(mantissa=2, exponent=-1))
    """
    exponent = math.floor(math.log10(gap))
    # The logarithm may land a hair on the wrong side of a power of ten.
    candidates = [RoundStep(m, e) for e in range(exponent - 1, exponent + 2) for m in (1, 2, 5)]
    return max((step for step in candidates if step.size <= gap), key=lambda step: step.size)


def step_above(gap: float) -> RoundStep:
    """The smallest round distance that is at least `gap`."""
    step = step_below(gap)
    if step.size >= gap:
        return step
    following = {1: RoundStep(2, step.exponent), 2: RoundStep(5, step.exponent)}
    return following.get(step.mantissa, RoundStep(1, step.exponent + 1))
