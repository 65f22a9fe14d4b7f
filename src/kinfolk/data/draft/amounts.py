"""Numbers and how often they occur -> an attribute with bins.

Edges are round: multiples of 1, 2 or 5 times a power of ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from kinfolk._typing import Floats, Ints
from kinfolk.schema import Numeric
from kinfolk.schema.bins import NARROW, tail_of
from kinfolk.schema.doubtful import HALF

LEVELS = (0.01, 0.05, *(n / 10 for n in range(1, 10)), 0.95, 0.99)
"""Shares of the rows below the edges; the outermost only where a tail is long."""
LONG_TAIL = 3
"""A tail is long if it reaches so many times farther from the median than eight tenths do."""
GENEROUS = 2
"""So much farther than the outermost number the end of a long tail is declared."""
ZEROS = 0.05
"""A share of zeros from which they are a category of their own, ..."""
STANDS_OUT = 2
"""... if so many times as many rows have zero as any other number has."""
MOST_DECIMALS = 6
"""Numbers with more decimals than this are measured, not written."""
FEWEST_BINS = 4
"""Wherever there are more numbers than that."""

FINEST = 1e-9
"""Edges are multiples of at least this share of the largest number."""


def draft_amount(
    numbers: Floats,
    counts: Ints,
    *,
    whole: bool,
    special: Sequence[int | float] = (),
    missing: bool = False,
) -> Numeric:
    """Draft a numeric attribute.

    numbers: (distinct,) increasing, without what stands for itself outside the range (`special`);
    counts: (distinct,) how many rows have each.

    >>> wages = np.concatenate([np.zeros(50), np.round(np.exp(np.linspace(6, 12, 50)))])
    >>> draft_amount(*np.unique(wages, return_counts=True), whole=True).special
    (0,)
    """
    own = list(special)
    if stands_out(numbers, counts):
        own.append(0)
        rest = numbers != 0
        numbers, counts = numbers[rest], counts[rest]
    places = 0 if whole else decimals_of(numbers, counts)
    bins = amount_bins(numbers, counts, places=places)
    if whole or places is None or not _fits(bins, places):
        return Numeric(bins=bins, integer=whole, special=own, missing=missing)
    return Numeric(bins=bins, decimals=places, special=own, missing=missing)


def stands_out(numbers: Floats, counts: Ints) -> bool:
    """Whether so many rows have 0 that it is a category of its own, beside other numbers."""
    zero = numbers == 0
    if not zero.any() or zero.all():
        return False
    zeros, others = int(counts[zero].sum()), int(counts[~zero].max())
    return bool(zeros >= ZEROS * counts.sum() and zeros >= STANDS_OUT * others)


def decimals_of(numbers: Floats, counts: Ints) -> int | None:
    """How many decimals nearly all rows make do with, 2 rather than 1 in money; None if too many.

    >>> decimals_of(np.array([0.5, 1.25, 7.0]), np.array([1, 1, 1]))
    2
    """
    for places in range(MOST_DECIMALS + 1):
        fine = np.round(numbers, places) == numbers
        if counts[fine].sum() >= 0.99 * counts.sum():
            # Money has cents: where some rows have a second decimal, the others end in a zero.
            cents = places == 1 and not fine.all() and (np.round(numbers, 2) == numbers).all()
            return 2 if cents else places
    return None


def amount_bins(numbers: Floats, counts: Ints, *, places: int | None) -> list[int | float]:
    """Round edges near the quantiles, closer together in the tails; ends that say little.

    places: how many decimals the numbers have; every bin has room for one of them.

    >>> ages = np.arange(1.0, 98.0)
    >>> amount_bins(ages, np.ones(97, np.int64), places=0)
    [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    """
    low, high = float(numbers[0]), float(numbers[-1])
    unit = 0.0 if places is None else 10.0**-places
    finest = max(unit, max(abs(low), abs(high)) * FINEST) or 1.0
    share = np.cumsum(counts) / counts.sum()
    at = numbers[np.minimum(np.searchsorted(share, LEVELS), len(numbers) - 1)]
    middle, spread = float(at[6]), float(at[10] - at[2])
    tails = (middle - low > LONG_TAIL * spread, high - middle > LONG_TAIL * spread)
    marks = at[0 if tails[0] else 2 : None if tails[1] else 11]
    inner: set[int | float] = {0} if low < 0 < high else set()
    apart = np.diff(np.concatenate([[low], marks, [high]]))
    for mark, before, after in zip(marks.tolist(), apart[:-1], apart[1:], strict=True):
        # As round as its own size and the distance to the next ones call for: 25, not 23.
        gaps = [float(gap) for gap in (before, after) if gap > 0]
        plain = min(abs(mark) / 10, spread / 20) if spread else abs(mark) / 10
        step = step_below(max(min(gaps, default=finest), step_above(max(plain, finest)).size))
        inner.add(step.times(round(mark / step.size)))
    bottom = _end(low, inner, finest, long=tails[0], down=True)
    top = _end(high, inner, finest, long=tails[1], down=False)
    if top <= bottom:
        top = bottom + step_above(finest).times(1)
    edges = [bottom, *sorted(edge for edge in inner if bottom < edge < top), top]
    return _halved(_cut(_apart(edges), finest), finest)


def _end(
    number: float, inner: set[int | float], finest: float, *, long: bool, down: bool
) -> int | float:
    """A round number beyond all others; far beyond where a tail is long."""
    sign = -1 if down else 1
    if long and sign * number > 0:
        step = step_above(abs(number) * GENEROUS)
        return step.times(sign)
    if down and number >= 0 and (not inner or number <= min(inner, default=0)) and long:
        return 0
    beyond = [abs(number - edge) for edge in inner if sign * (number - edge) > 0]
    step = step_above(max(min(beyond, default=0.0), finest))
    return _enclose(number, step, sign)


def _enclose(number: float, step: RoundStep, sign: int) -> int | float:
    """The nearest multiple of the step at or beyond a number."""
    count = sign * math.ceil(sign * number / step.size)
    while sign * step.times(count) < sign * number:
        count += sign
    return step.times(count)


def _apart(edges: list[int | float]) -> list[int | float]:
    """The edges without those that can hardly be told from the one before."""
    closest = (edges[-1] - edges[0]) * FINEST
    kept = edges[:1]
    for edge in edges[1:-1]:
        if edge - kept[-1] > closest and edges[-1] - edge > closest:
            kept.append(edge)
    return [*kept, edges[-1]]


def _cut(edges: list[int | float], finest: float) -> list[int | float]:
    """With a few more round edges where there are hardly any."""
    if len(edges) > FEWEST_BINS:
        return edges
    step = step_below(max((edges[-1] - edges[0]) / FEWEST_BINS, finest))
    first = math.floor(edges[0] / step.size) + 1
    count = min(10 * FEWEST_BINS, math.ceil(edges[-1] / step.size) - first)
    more = [step.times(first + n) for n in range(max(0, count))]
    between = [edge for edge in more if edges[0] < edge < edges[-1]]
    return _apart(sorted({*edges, *between}))


def _halved(edges: list[int | float], finest: float) -> list[int | float]:
    """With bins cut that are, without being tails, more than half of what is no tail."""
    for _ in range(FEWEST_BINS):
        bins = Numeric(bins=edges)
        inner = [code for code in range(len(edges) - 1) if not tail_of(bins, code)]
        widths = {code: edges[code + 1] - edges[code] for code in inner}
        code = max(widths, key=widths.__getitem__, default=0)
        width = widths.get(code, 0)
        if len(inner) <= 2 or width <= max(HALF * sum(widths.values()), NARROW * finest):
            break
        step = step_below(width / 2)
        middle = step.times(round((edges[code] + edges[code + 1]) / 2 / step.size))
        edges = _apart(sorted({*edges, middle}))
    return edges


def _fits(bins: Sequence[int | float], places: int) -> bool:
    """Whether floating-point numbers of this size have so many decimals."""
    return max(abs(bins[0]), abs(bins[-1])) * 10.0**places <= 2**53


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
