"""A figure as one table of probabilities sees it: its value, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kinfolk._typing import Floats
from kinfolk.data.number_law import NumberLaw
from kinfolk.queries.figures import Figure, Kind


@dataclass(frozen=True, kw_only=True, eq=False)
class SeenNumber:
    """A number of those asked about: how likely its categories are, and how it lies in them."""

    position: int | None
    """Of the attribute; None for a share."""
    law: NumberLaw
    shares: Floats
    """(numbers, weights) the categories of the number and of the weight, of groups or of people."""
    worth: Floats
    """(weights,) the mean weight in each category of the weight; 1 without weights."""
    spread: Floats
    """(weights,) the variance of weights inside each."""

    @property
    def likely(self) -> Floats:
        """(numbers,) how much every category counts for."""
        return self.shares @ self.worth

    @property
    def mass(self) -> float:
        """How much all of them count for."""
        return float(self.likely.sum())

    @property
    def sum(self) -> float:
        """The sum of the number."""
        return float(self.likely @ self.law.means)

    @property
    def effective(self) -> float:
        """How many with equal weights would be as sure."""
        squares = float(self.shares.sum(axis=0) @ (self.worth**2 + self.spread))
        return self.mass**2 / squares

    def chance(self, less: float = 0.0) -> float:
        """The variance of the sum of the number minus `less` that chance makes inside categories.

        Numbers and weights lie there as their shapes say, each on its own.
        """
        away = (self.law.means - less) ** 2
        numbers = self.law.variances @ self.shares @ (self.worth**2 + self.spread)
        return float(numbers + away @ self.shares @ self.spread)

    def tilted(self, usual: Mapping[int, Floats], everybody: float) -> SeenNumber:
        """The same if numbers lie inside bins as neighbouring bins suggest: see `NumberLaw`."""
        if self.position is None:
            return self
        total = float(self.shares.sum()) * everybody
        law = self.law.tilted(self.likely, usual[self.position], least=0.5 / max(total, 0.5))
        return replace(self, law=law)

    def deviation(self, mean: float) -> float:
        """The standard deviation of the numbers."""
        squares = (self.law.means - mean) ** 2 + self.law.variances
        return math.sqrt(float(self.likely @ squares) / self.mass)


@dataclass(frozen=True, kw_only=True, eq=False)
class FigureView:
    """A figure as one table of probabilities sees it."""

    figure: Figure
    numbers: tuple[SeenNumber, ...]
    everybody: float
    """How many groups, or people, there are."""

    @property
    def value(self) -> float:
        """The figure itself."""
        first, kind = self.numbers[0], self.figure.kind
        if first.mass <= 0:
            return math.nan
        if kind is Kind.SUM:
            return first.sum * self.everybody
        if kind is Kind.QUANTILE:
            return first.law.quantile(first.likely, self.figure.quantile)
        if kind is Kind.RATIO:
            return first.sum / self.numbers[1].sum if self.numbers[1].sum else math.nan
        return first.sum / first.mass

    @property
    def total(self) -> float:
        """How many it is about."""
        return float(self.numbers[0].shares.sum()) * self.everybody

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value that it can have."""
        low, high = self.numbers[0].law.range
        if self.figure.kind is Kind.SUM:
            return 0.0 if low >= 0 else -math.inf, math.inf
        if self.figure.kind is Kind.RATIO:
            below = min(low, self.numbers[1].law.range[0])
            return 0.0 if below >= 0 else -math.inf, math.inf
        return low, high

    def error(self, others: Sequence[FigureView], usual: Mapping[int, Floats]) -> float:
        """The standard error, by what replicates see, and by what may be inside bins.

        usual: by attribute, (numbers,) how likely its categories are on the whole.
        """
        value, total, kind = self.value, self.total, self.figure.kind
        if math.isnan(value):
            return math.nan
        if kind is Kind.QUANTILE:
            return self._error_of_quantile(value, others, usual)
        first = self.numbers[0]
        if kind is Kind.SUM:
            chance = first.chance() * self.everybody
            half = 0.5 * value / total
        elif kind is Kind.RATIO:
            second = self.numbers[1]
            chance = (first.chance() + value**2 * second.chance()) / self.everybody
            chance /= second.sum**2
            half = 0.5 * value / total
        else:
            chance = first.chance(value) / (self.everybody * first.mass**2)
            # There are whole groups and people only: half of one might be more or less.
            half = 0.5 * (1.0 if kind is Kind.SHARE else first.deviation(value)) / total
        tilt = self._tilted(usual).value - value
        noise = _mean_square([one.value - value for one in others])
        return math.sqrt(noise + tilt**2 + chance + half**2)

    def _tilted(self, usual: Mapping[int, Floats]) -> FigureView:
        numbers = tuple(one.tilted(usual, self.everybody) for one in self.numbers)
        return replace(self, numbers=numbers)

    def _error_of_quantile(
        self, value: float, others: Sequence[FigureView], usual: Mapping[int, Floats]
    ) -> float:
        """Half the distance of the quantiles that lie a standard error of the share apart.

        How far off the share up to this very number is, tells how far off the number is; one more
        or less of the last digit that is written is not told apart.
        """
        first, share = self.numbers[0], self.figure.quantile
        below = first.law.below(first.likely, value)
        off = [
            one.numbers[0].law.below(one.numbers[0].likely, value) - below
            for one in others
            if one.numbers[0].mass > 0
        ]
        tilted = self._tilted(usual).numbers[0]
        tilt = tilted.law.below(tilted.likely, value) - below
        chance = first.law.chance(first.likely, value) / (self.everybody * first.effective)
        error = math.sqrt(_mean_square(off) + tilt**2 + chance + (0.5 / self.total) ** 2)
        low, high = (first.law.quantile(first.likely, share + sign * error) for sign in (-1.0, 1.0))
        unit = 0.0 if first.law.places is None else 10.0**-first.law.places
        return math.hypot((high - low) / 2, unit / 2)


def _mean_square(differences: Sequence[float]) -> float:
    """Without those of replicates that have nobody there."""
    known = [one for one in differences if not math.isnan(one)]
    return sum(one * one for one in known) / len(known) if known else 0.0
