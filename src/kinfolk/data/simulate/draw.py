"""Vectorised draws: weighted choices by row, ages inside bands, coins, and curves over age.

Only `random` and `standard_normal` of the generator are used: the two draws least likely to change
between NumPy releases, so that a seed keeps meaning the same households.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

Knots = Sequence[tuple[float, float]]
"""Points (x, y) of a curve, joined by straight lines and flat outside."""


@dataclass(frozen=True)
class Shares:
    """Several distributions over the same outcomes, one per row."""

    outcomes: Ints
    """The values drawn: (columns,)."""
    cumulative: Floats
    """Running totals of each row's probabilities: (rows, columns)."""

    def draw(self, rng: np.random.Generator, rows: Ints) -> Ints:
        """One outcome per entry of `rows`, each from the row it names: the shape of `rows`."""
        return self.at(rng.random(rows.shape), rows)

    def at(self, uniform: Floats, rows: Ints) -> Ints:
        """The outcomes that given uniform numbers stand for; relatives may share theirs."""
        position = (uniform[..., None] >= self.cumulative[rows]).sum(axis=-1)
        drawn: Ints = self.outcomes[position]
        return drawn

    def draw_many(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Ints:
        """Outcomes of the first row, for a table that has only one."""
        return self.outcomes[np.searchsorted(self.cumulative[0], rng.random(shape), side="right")]


def shares(outcomes: Sequence[int], *weights: Sequence[float]) -> Shares:
    """Distributions over `outcomes`, one for each sequence of weights (in any unit).

    >>> shares([3, 5], [1, 1], [0, 2]).draw(np.random.default_rng(0), np.array([1, 1])).tolist()
    [5, 5]
    """
    table = np.asarray(weights, dtype=np.float64)
    cumulative = np.cumsum(table, axis=1) / table.sum(axis=1, keepdims=True)
    # Rounding must never leave a gap above the last outcome that can occur.
    cumulative[cumulative > 1 - 1e-12] = 1.0
    return Shares(np.asarray(outcomes, dtype=np.int64), cumulative)


@dataclass(frozen=True)
class Bands:
    """Whole numbers drawn evenly inside weighted bands, one set of weights per row."""

    lower: Ints
    """First number of each band: (bands,)."""
    width: Ints
    """How many numbers each band holds: (bands,)."""
    choice: Shares
    """Which band: outcomes 0 .. bands - 1."""

    def draw(self, rng: np.random.Generator, rows: Ints) -> Ints:
        """One whole number per entry of `rows`, each from the row it names."""
        band = self.choice.draw(rng, rows)
        inside = rng.random(rows.shape) * self.width[band]
        return self.lower[band] + inside.astype(np.int64)


def bands(edges: Sequence[int], *weights: Sequence[float]) -> Bands:
    """Bands [edges[i], edges[i + 1]), with one sequence of weights for each row.

    >>> bands([0, 1, 2], [0, 1]).draw(np.random.default_rng(0), np.array([0])).tolist()
    [1]
    """
    limits = np.asarray(edges, dtype=np.int64)
    choice = shares(range(len(edges) - 1), *weights)
    return Bands(limits[:-1], np.diff(limits), choice)


def curve(knots: Knots, at: Ints | Floats) -> Floats:
    """The height of a curve at each point.

    >>> curve([(0, 0.0), (10, 1.0)], np.array([5, 20])).tolist()
    [0.5, 1.0]
    """
    across, up = zip(*knots, strict=True)
    height: Floats = np.interp(at, across, up)
    return height


def coin(rng: np.random.Generator, chance: Floats | float, size: int) -> Bools:
    """True with the given chance, `size` times: (size,)."""
    return rng.random(size) < chance


def normal(rng: np.random.Generator, mean: Floats | Ints | float, sd: float, size: int) -> Ints:
    """Normal draws rounded to whole numbers: (size,)."""
    return np.rint(mean + sd * rng.standard_normal(size)).astype(np.int64)


def logistic(x: Floats) -> Floats:
    """Turn a log-odds into a chance."""
    return 1.0 / (1.0 + np.exp(-x))
