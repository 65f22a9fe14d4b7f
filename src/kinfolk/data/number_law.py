"""The numbers of one attribute: how they are distributed, once its categories are.

Inside a bin they follow its shape, whatever else is known of the group or person. So a mean, a
spread or a quantile takes only how likely every category is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from kinfolk._typing import Floats, Ints
from kinfolk.data.shapes import Shape
from kinfolk.schema import Attribute, Categorical, Numeric
from kinfolk.schema.conditions import is_code

ROUNDING = 1e-9
"""What sums of shares may be off by."""
STEEPEST = 4.0
"""The logarithm of a ratio changes by no more than this from one end of a bin to the other."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberLaw:
    """The numbers of an attribute as pieces that do not overlap, each evenly filled.

    >>> law = NumberLaw.of(Numeric(bins=[0, 2, 10], integer=True, special=[0, -9], missing=True))
    >>> law.codes.tolist(), law.means.tolist()
    ([0, 1, 2], [1.0, 6.0, 0.0])
    >>> likely = np.array([0.25, 0.25, 0.5])
    >>> law.quantile(likely, 0.5), law.quantile(likely, 0.9), round(law.below(likely, 6.0), 4)
    (0.0, 7.0, 0.8889)
    """

    codes: Ints
    """(numbers,) the categories that are numbers: no blanks, no special values outside the bins."""
    bins: int
    """How many of these are bins; the others are single values."""
    places: int | None
    """To how many decimals they are written; None: any number."""
    piece_codes: Ints
    """(pieces,) the category of each, as a position in `codes`; pieces are in increasing order."""
    shares: Floats
    """(pieces,) of the category's numbers; 1 in total for a category."""
    lows: Floats
    """(pieces,) the least number, ..."""
    highs: Floats
    """... and the largest one, or where it ends if any number can be written."""

    @classmethod
    def of(cls, attribute: Attribute, shape: Shape | None = None) -> NumberLaw:
        """The law of an attribute with numbers; without a shape, evenly inside a bin."""
        if isinstance(attribute, Categorical):
            values = map(float, attribute.values)
            found = [(code, 1.0, value, value) for code, value in enumerate(values)]
            places: int | None = 0 if all(one[2].is_integer() for one in found) else None
            bins = 0
        else:
            found = list(_pieces(Shape.even(attribute) if shape is None else shape))
            places, bins = attribute.places, len(attribute.bins) - 1
        found.sort(key=lambda piece: piece[2:])
        codes = sorted({piece[0] for piece in found})
        return cls(
            codes=np.array(codes, np.int64),
            bins=bins,
            places=places,
            piece_codes=np.array([codes.index(piece[0]) for piece in found], np.int64),
            shares=np.array([piece[1] for piece in found]),
            lows=np.array([piece[2] for piece in found]),
            highs=np.array([piece[3] for piece in found]),
        )

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest number that there can be."""
        return float(self.lows[0]), float(self.highs[-1])

    @cached_property
    def _unit(self) -> float:
        return 0.0 if self.places is None else 10.0**-self.places

    @cached_property
    def _held(self) -> Floats:
        """(pieces,) how many numbers each holds, where they can be counted; else 1."""
        if self.places is None:
            return np.ones(len(self.lows))
        return np.rint((self.highs - self.lows) / self._unit) + 1

    @cached_property
    def means(self) -> Floats:
        """(numbers,) the mean of every category."""
        middles = (self.lows + self.highs) / 2
        return self._per_code(middles)

    @cached_property
    def variances(self) -> Floats:
        """(numbers,) the variance inside every category."""
        middles = (self.lows + self.highs) / 2
        widths = self.highs - self.lows
        own = widths**2 / 12
        if self.places is not None:
            # So many numbers at even distances.
            own = (self._held**2 - 1) * self._unit**2 / 12
        away = middles - self.means[self.piece_codes]
        return self._per_code(own + away**2)

    def _per_code(self, of_pieces: Floats) -> Floats:
        """(numbers,) the mean over the pieces of every category."""
        found = np.bincount(self.piece_codes, weights=self.shares * of_pieces)
        return np.asarray(found, np.float64)

    def below(self, likely: Floats, number: float) -> float:
        """The share of numbers up to a number. likely: (numbers,), with any positive total."""
        masses = likely[self.piece_codes] * self.shares
        return float(masses @ self._reached(number) / masses.sum())

    def chance(self, likely: Floats, number: float) -> float:
        """By how much `below` of so many numbers varies when each is drawn inside its category.

        The variance, times how many there are.
        """
        inside = self._per_code(self._reached(number))
        return float(likely @ (inside * (1 - inside)) / likely.sum())

    def tilted(self, likely: Floats, usual: Floats, *, least: float) -> NumberLaw:
        """How numbers might lie inside their bins among some whose bins are not the usual ones.

        likely, usual: (numbers,) how likely the categories are among them, and on the whole, with
        any positive totals; least: a share that is as good as none. Where a bin is rarer than usual
        and the next one is not, the numbers in it should be nearer to the next one: the change of
        the (logarithm of the) ratio from bin to bin goes on inside them.
        """
        if self.bins < 2:
            return self
        whole = np.maximum(usual[: self.bins] / usual[: self.bins].sum(), ROUNDING)
        own = likely[: self.bins] / max(likely[: self.bins].sum(), ROUNDING)
        ratio = np.log((own + least) / (whole + least))
        slopes = np.gradient(ratio, np.cumsum(whole) - whole / 2) * whole
        inside = np.zeros(len(self.codes))
        inside[: self.bins] = np.clip(slopes, -STEEPEST, STEEPEST)
        # The share of the category up to the middle of a piece, less one half.
        ends = np.cumsum(self.shares[order := np.argsort(self.piece_codes, kind="stable")])
        middles = np.empty(len(ends))
        middles[order] = ends - self.shares[order] / 2
        away = middles - self.piece_codes - 0.5
        shares = self.shares * np.exp(inside[self.piece_codes] * away)
        totals = np.bincount(self.piece_codes, weights=shares)
        return replace(self, shares=shares / totals[self.piece_codes])

    def quantile(self, likely: Floats, share: float) -> float:
        """The least number that at least such a share does not exceed."""
        masses = likely[self.piece_codes] * self.shares
        reached = np.cumsum(masses)
        wanted = min(max(share, 0.0), 1.0) * reached[-1]
        filled = np.flatnonzero(masses > 0)
        first = int(np.searchsorted(reached[filled], wanted * (1 - ROUNDING)))
        at = int(filled[min(first, len(filled) - 1)])
        part = np.clip((wanted - reached[at] + masses[at]) / masses[at], 0.0, 1.0)
        if self.places is None:
            return float(self.lows[at] + part * (self.highs[at] - self.lows[at]))
        rank = max(np.ceil(part * self._held[at] * (1 - ROUNDING)), 1.0)
        if rank == 1:
            return float(self.lows[at])
        return float(np.round(self.lows[at] + (rank - 1) * self._unit, self.places))

    def _reached(self, number: float) -> Floats:
        """(pieces,) the share of each that a number is not below."""
        if self.places is None:
            widths = self.highs - self.lows
            part = (number - self.lows) / np.where(widths > 0, widths, 1.0)
            return np.where(widths > 0, np.clip(part, 0.0, 1.0), number >= self.lows)
        counted = np.floor((number - self.lows) / self._unit + 1e-6) + 1
        return np.clip(counted / self._held, 0.0, 1.0)


def _pieces(shape: Shape) -> Iterator[tuple[int, float, float, float]]:
    """Code, share, and both ends: cells, cut where a special value lies inside, and such values."""
    attribute, cells = shape.attribute, shape.cells
    for cell, (code, share) in enumerate(zip(shape.bins.tolist(), shape.shares, strict=True)):
        parts = list(_cut(cells, cell))
        total = sum(size for *_, size in parts)
        for low, high, size in parts:
            yield code, float(share) * size / total, low, high
    for code, value in enumerate(attribute.special, len(attribute.bins) - 1):
        if not is_code(value, attribute):
            yield code, 1.0, float(value), float(value)


def _cut(cells: Numeric, cell: int) -> Iterator[tuple[float, float, float]]:
    """The ends of a cell, and how much lies between them; without the special values in it."""
    if cells.places is None:
        low, high = cells.bins[cell], cells.bins[cell + 1]
        inside = sorted(value for value in cells.special if low < value < high)
        ends = [low, *inside, high]
        for begin, end in pairwise(ends):
            yield float(begin), float(end), float(end - begin)
        return
    whole, unit = cells.writable(cell), 10.0**cells.places
    start = whole.start
    for stop in [*(k for k in cells.special_steps() if k in whole), whole.stop]:
        if stop > start:
            yield start / unit, (stop - 1) / unit, float(stop - start)
        start = stop + 1
