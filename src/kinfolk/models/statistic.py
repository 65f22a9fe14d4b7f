"""One query as a function of a group, and distributions reweighted by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kinfolk.models.universe import Universe
from kinfolk.models.universe_kernel import tilt
from kinfolk.privacy.contributions import group_contribution
from kinfolk.queries.workload import Query

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistic:
    """What every group adds to a query: a small number, by size.

    A distribution matters to the query only through its masses: how probable it is that a group has
    a size and adds a number. Reweighting by the query needs nothing else either.
    """

    added: npt.NDArray[np.uint16]
    """(casts,) what a group adds where its kind of household matches."""
    matching: npt.NDArray[np.bool_]
    """(household kinds,) which kinds match."""
    size_index: npt.NDArray[np.int64]
    """(casts,) the cast's size, counted from the smallest."""
    sizes: Floats
    """(sizes, 1) what a group counts for in the whole: its members, or one at the group level."""
    bound: int
    """The most that any group can add: M for the individual level, one for the group level."""

    @classmethod
    def of(cls, universe: Universe, query: Query) -> Statistic:
        """The statistic of a query."""
        schema, marginal = universe.schema, query.marginal
        added, matching = universe.contribution(query)
        sizes = np.array(schema.sizes, np.float64)[:, None]
        return cls(
            added=added,
            matching=matching,
            size_index=universe.sizes - schema.sizes.start,
            sizes=np.ones_like(sizes) if marginal.level == "group" else sizes,
            bound=max(group_contribution(schema, marginal, c).single for c in schema.compositions),
        )

    @property
    def numbers(self) -> Floats:
        """(numbers,) 0, 1, 2 and so on: what a group may add."""
        return np.arange(int(self.added.max()) + 1, dtype=np.float64)

    def masses(self, probabilities: Floats) -> Floats:
        """(sizes, numbers) how probable a size and a number are together."""
        numbers = len(self.numbers)
        # Both parts are sums of their own, so that neither is a small difference of large ones.
        split = np.column_stack([self.matching, ~self.matching]).astype(np.float64)
        inside, outside = (probabilities @ split).T
        cells = len(self.sizes) * numbers
        found = np.zeros(cells)
        found += np.bincount(self.size_index * numbers + self.added, inside, cells)
        found += np.bincount(self.size_index * numbers, outside, cells)
        return found.reshape(-1, numbers)

    def share(self, masses: Floats) -> float:
        """The query's answer as a share, from the masses."""
        return float((masses @ self.numbers).sum() / (masses * self.sizes).sum())

    def reweight(self, probabilities: Floats, masses: Floats, exponents: Floats) -> None:
        """Multiply by exp(exponents), (sizes, numbers), in place, and bring the sum back to one."""
        factors = np.exp(exponents - exponents.max())
        factors /= (masses * factors).sum()
        factors = np.broadcast_to(factors, masses.shape)
        tilt(
            probabilities, self.added, self.matching, self.size_index, np.ascontiguousarray(factors)
        )
