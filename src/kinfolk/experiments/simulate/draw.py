"""What simulators are made of: vectorised draws, and the sample that they fill.

Only `random` and `standard_normal` of the generator are used: the two draws least likely to change
between NumPy releases, so that a seed keeps meaning the same households.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinfolk._typing import Bools, Floats, Ints


@dataclass(frozen=True)
class Shares:
    """Several distributions over the same outcomes, one per row."""

    outcomes: Ints
    """The values drawn: (columns,)."""
    cumulative: Floats
    """Running totals of each row's probabilities: (rows, columns)."""

    @classmethod
    def of(cls, outcomes: Sequence[int], *weights: Sequence[float]) -> Shares:
        """Distributions over `outcomes`, one for each sequence of weights (in any unit).

        >>> Shares.of([3, 5], [1, 1], [0, 2]).draw(np.random.default_rng(0), np.array([1, 1]))
        array([5, 5])
        """
        table = np.asarray(weights, dtype=np.float64)
        cumulative = np.cumsum(table, axis=1) / table.sum(axis=1, keepdims=True)
        # Rounding must never leave a gap above the last outcome that can occur.
        cumulative[cumulative > 1 - 1e-12] = 1.0
        return cls(np.asarray(outcomes, dtype=np.int64), cumulative)

    def draw(self, rng: np.random.Generator, rows: Ints) -> Ints:
        """One outcome per entry of `rows`, each from the row it names: the shape of `rows`."""
        return self.at(rng.random(rows.shape), rows)

    def draw_many(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> Ints:
        """Outcomes of the first row, for a table that has only one."""
        return self.at(rng.random(shape), 0)

    def at(self, uniform: Floats, rows: Ints | int) -> Ints:
        """The outcomes that given uniform numbers stand for; relatives may share theirs."""
        drawn: Ints = self.outcomes[(uniform[..., None] >= self.cumulative[rows]).sum(axis=-1)]
        return drawn


class Bands:
    """Whole numbers drawn evenly inside bands [edges[i], edges[i + 1]), with weights for each row.

    >>> Bands([0, 1, 2], [0, 1]).draw(np.random.default_rng(0), np.array([0])).tolist()
    [1]
    """

    def __init__(self, edges: Sequence[int], *weights: Sequence[float]) -> None:
        self._edges = np.asarray(edges, dtype=np.int64)
        self._band = Shares.of(range(len(edges) - 1), *weights)

    def draw(self, rng: np.random.Generator, rows: Ints) -> Ints:
        """One whole number per entry of `rows`, each from the row it names."""
        band = self._band.draw(rng, rows)
        inside = rng.random(rows.shape) * np.diff(self._edges)[band]
        return self._edges[band] + inside.astype(np.int64)


def curve(knots: Sequence[tuple[float, float]], at: Ints | Floats) -> Floats:
    """The height at each point of a curve: straight lines between the knots (x, y), flat outside.

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


def years_above(
    rng: np.random.Generator, gap: Shares, number: Ints, *, longest: int, widest: int = 100
) -> Ints:
    """How much older than the youngest each of `number` siblings is, the oldest first.

    `gap` holds the years from one to the next. Returns (families, longest); the youngest has 0.
    """
    gaps = gap.draw_many(rng, (len(number), longest))
    gaps[:, 0] = 0
    turn = np.clip(number[:, None] - 1 - np.arange(longest), 0, None)
    above: Ints = np.take_along_axis(np.minimum(np.cumsum(gaps, axis=1), widest), turn, axis=1)
    return above


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """Some groups in order, and their members in the same order, without ids."""

    groups: dict[str, Ints]
    """The group attributes by name, each (groups,)."""
    members: dict[str, Ints]
    """The individual attributes by name, each (people,)."""
    sizes: Ints
    """How many members each group has: (groups,)."""

    def __len__(self) -> int:
        return len(self.sizes)

    def cut(self, start: int, stop: int) -> Simulated:
        """The groups from one place to another, with all their members."""
        first, last = int(self.sizes[:start].sum()), int(self.sizes[:stop].sum())
        return Simulated(
            groups={name: values[start:stop] for name, values in self.groups.items()},
            members={name: values[first:last] for name, values in self.members.items()},
            sizes=self.sizes[start:stop],
        )

    def pick(self, groups: Sequence[str], members: Sequence[str]) -> Simulated:
        """The named columns, in that order."""
        return Simulated(
            groups={name: self.groups[name] for name in groups},
            members={name: self.members[name] for name in members},
            sizes=self.sizes,
        )

    def keep(self, groups: Bools, members: Bools | None = None) -> Simulated:
        """Only the chosen groups, and of their members only the chosen ones (default: all).

        groups: (groups,); members: (people,). Every kept group must keep a member.
        """
        owner = np.repeat(np.arange(len(self)), self.sizes)
        stays = groups[owner] if members is None else groups[owner] & members
        return Simulated(
            groups={name: values[groups] for name, values in self.groups.items()},
            members={name: values[stays] for name, values in self.members.items()},
            sizes=np.bincount(owner[stays], minlength=len(self))[groups],
        )
